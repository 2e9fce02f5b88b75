"""Files of SPSS, Stata and SAS, with what they state of their columns: the extra `stats`."""
