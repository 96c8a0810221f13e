"""Rule lists grown rule by rule, ordinary and private."""
