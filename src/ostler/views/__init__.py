"""The read side: what people and scripts are shown, made from what the store holds."""
