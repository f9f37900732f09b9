-- Accounts that exchange money, and the transfers: what is in one must be in the other.
-- All of a step follows from its number.
CREATE TABLE account(id INTEGER PRIMARY KEY, balance INTEGER NOT NULL, filler BLOB);
CREATE TABLE step(n INTEGER PRIMARY KEY, payload TEXT,
	source INTEGER AS (n * 2654435761 % 2000), target INTEGER AS (n * 40503 % 2000),
	amount INTEGER AS (n % 97),
	planned TEXT AS (substr(replace(hex(zeroblob(400)), '00', printf('%08x', n)), 1,
		100 + n * 7919 % 3000)));
CREATE INDEX by_payload ON step(payload);
CREATE TRIGGER transfer AFTER INSERT ON step BEGIN
	UPDATE step SET payload = planned WHERE n = new.n;
	UPDATE account SET balance = balance - new.amount WHERE id = new.source;
	UPDATE account SET balance = balance + new.amount WHERE id = new.target;
END;
WITH RECURSIVE id(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM id WHERE i < 1999)
	INSERT INTO account SELECT i, 1000, zeroblob(500) FROM id;
