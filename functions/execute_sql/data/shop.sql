-- A small shop; the same tables and products in every region.
CREATE TABLE customers (
  id    INTEGER PRIMARY KEY,
  name  TEXT NOT NULL,
  city  TEXT NOT NULL,
  since TEXT NOT NULL -- date, YYYY-MM-DD
);
CREATE TABLE products (
  id          INTEGER PRIMARY KEY,
  name        TEXT NOT NULL,
  category    TEXT NOT NULL,
  price_cents INTEGER NOT NULL
);
CREATE TABLE orders (
  id          INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers (id),
  ordered_on  TEXT NOT NULL, -- date, YYYY-MM-DD
  status      TEXT NOT NULL CHECK (status IN ('open', 'shipped', 'returned'))
);
CREATE TABLE order_items (
  order_id   INTEGER NOT NULL REFERENCES orders (id),
  product_id INTEGER NOT NULL REFERENCES products (id),
  quantity   INTEGER NOT NULL,
  PRIMARY KEY (order_id, product_id)
);
INSERT INTO products VALUES
  (1, 'Desk lamp', 'office', 3900), (2, 'Notebook', 'office', 450), (3, 'Office chair', 'office', 18900),
  (4, 'Tent', 'outdoor', 22900), (5, 'Water bottle', 'outdoor', 1900), (6, 'Head torch', 'outdoor', 2900),
  (7, 'Kettle', 'kitchen', 4900), (8, 'Teapot', 'kitchen', 3200), (9, 'Chef''s knife', 'kitchen', 7900);
