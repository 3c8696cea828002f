# A reviewer has a number: which command made it, and does it come out again?
metaeval run -m overlap,rouge -p classification -q
metaeval results show | grep -q '^Command: metaeval run --metrics overlap,rouge --protocol classification'
metaeval results rerun | grep -q 'files are the same bytes'
