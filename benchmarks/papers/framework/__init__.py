"""What all papers share: which there are, tables, plots, files of the data folder, and how rows are compared."""
