"""Tools that write parts of this repository; the product never imports them."""
