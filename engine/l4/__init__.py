"""The L4 paper's method: cross-job filter, spatial and temporal comparison; parameters it leaves open are stated here."""
