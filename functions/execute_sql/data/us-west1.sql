INSERT INTO customers VALUES
  (1, 'Maya Lopez', 'Portland', '2023-02-11'), (2, 'Owen Park', 'Seattle', '2023-09-30'),
  (3, 'Ruth Adler', 'San Francisco', '2024-05-17'), (4, 'Sam Whitfield', 'Los Angeles', '2025-01-08');
INSERT INTO orders VALUES
  (101, 1, '2025-11-03', 'shipped'), (102, 1, '2026-02-19', 'shipped'), (103, 2, '2026-03-02', 'returned'),
  (104, 3, '2026-06-24', 'shipped'), (105, 4, '2026-07-09', 'open');
INSERT INTO order_items VALUES
  (101, 4, 1), (101, 6, 2), (102, 5, 4), (103, 3, 1), (104, 7, 1), (104, 8, 1), (105, 4, 1), (105, 5, 2);
