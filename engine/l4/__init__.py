"""The L4 paper's method: cross-job filter, spatial and temporal comparison; where it leaves parameters open, ours."""
