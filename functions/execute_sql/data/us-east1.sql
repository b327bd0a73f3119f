INSERT INTO customers VALUES
  (1, 'Grace Okafor', 'New York', '2022-11-20'), (2, 'Henry Brandt', 'Boston', '2023-03-04'),
  (3, 'Ines Castillo', 'Miami', '2024-08-26'), (4, 'Jack Lindqvist', 'Atlanta', '2024-12-01'),
  (5, 'Priya Raman', 'New York', '2025-06-13');
INSERT INTO orders VALUES
  (201, 1, '2025-10-14', 'shipped'), (202, 2, '2025-12-05', 'shipped'), (203, 1, '2026-01-22', 'shipped'),
  (204, 3, '2026-04-11', 'returned'), (205, 5, '2026-05-30', 'shipped'), (206, 4, '2026-07-01', 'open');
INSERT INTO order_items VALUES
  (201, 1, 2), (201, 2, 10), (202, 3, 1), (203, 9, 1), (204, 4, 1), (205, 2, 25), (205, 1, 5), (206, 7, 1);
