"""Views: what people and scripts see of tasks, attempts, costs and models."""
