# A reader of the docs types the first command that they give.
metaeval run
