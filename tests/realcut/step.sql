BEGIN IMMEDIATE;
INSERT INTO step(n) SELECT 1 + coalesce(max(n), 0) FROM step;
COMMIT;
SELECT writefile('ack.0.' || (max(n) % 2), max(n)) FROM step;
