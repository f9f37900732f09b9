-- Prints what is wrong; :acked is the last step that was acknowledged.
SELECT 'LOST: the last step is ' || coalesce(max(n), 0) || ', acknowledged was ' || :acked
	FROM step HAVING coalesce(max(n), 0) NOT IN (:acked, :acked + 1);
SELECT 'LOST: ' || count(*) || ' steps of ' || max(n) FROM step HAVING count(*) != max(n);
SELECT 'FOREIGN: the payload of step ' || n FROM step WHERE payload IS NOT planned LIMIT 10;
SELECT 'LOST: ' || count(*) || ' accounts of 2000' FROM account HAVING count(*) != 2000;
CREATE TEMP TABLE moved AS SELECT id, sum(amount) AS amount FROM
	(SELECT source AS id, -amount AS amount FROM step UNION ALL SELECT target, amount FROM step)
	GROUP BY id;
SELECT 'LOST: the balance of account ' || id FROM account LEFT JOIN moved USING (id)
	WHERE balance != 1000 + coalesce(moved.amount, 0) LIMIT 10;
SELECT 'DAMAGED: ' || integrity_check FROM pragma_integrity_check WHERE integrity_check != 'ok';
