"""What a chat model is asked for the pipelines: its options, strict forms of replies, who answers, at what cost."""
