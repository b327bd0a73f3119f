INSERT INTO customers VALUES
  (1, 'Anneke de Vries', 'Amsterdam', '2023-01-15'), (2, 'Bruno Keller', 'Zurich', '2023-07-07'),
  (3, 'Chloe Martin', 'Paris', '2024-02-29');
INSERT INTO orders VALUES
  (301, 1, '2025-11-28', 'shipped'), (302, 2, '2026-02-03', 'shipped'), (303, 3, '2026-05-12', 'shipped'),
  (304, 1, '2026-06-30', 'open');
INSERT INTO order_items VALUES
  (301, 8, 1), (301, 7, 1), (302, 4, 2), (302, 6, 2), (303, 9, 1), (304, 5, 1);
