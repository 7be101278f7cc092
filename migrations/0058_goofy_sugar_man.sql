CREATE TABLE `usage_key_days` (
	`user_id` text NOT NULL,
	`day` text NOT NULL,
	`key_id` text NOT NULL,
	`model` text NOT NULL,
	`tokens` integer NOT NULL,
	`cost_micro_usd` integer NOT NULL,
	`calls` integer NOT NULL,
	PRIMARY KEY(`user_id`, `day`, `key_id`, `model`)
) STRICT;
--> statement-breakpoint
CREATE INDEX `usage_key_days_by_key` ON `usage_key_days` (`key_id`,`day`);--> statement-breakpoint
INSERT INTO `usage_key_days` (`user_id`, `day`, `key_id`, `model`, `tokens`, `cost_micro_usd`, `calls`)
	SELECT `user_id`, date(`created_at` / 1000, 'unixepoch'), `key_id`, `model`, sum(`input_tokens` + `output_tokens`), sum(`cost_micro_usd`), count(*) FROM `usage_logs`
	WHERE `key_id` IS NOT NULL GROUP BY 1, 2, 3, 4;