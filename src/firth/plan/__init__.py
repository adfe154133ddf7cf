"""What a run would cost at another size, by a short probe of the same documents."""
