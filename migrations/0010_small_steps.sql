CREATE TABLE `message_days` (
	`agent_id` text NOT NULL,
	`day` text NOT NULL,
	`asked` integer NOT NULL,
	`failed` integer NOT NULL,
	`answered` integer NOT NULL,
	PRIMARY KEY(`agent_id`, `day`),
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE TABLE `tool_days` (
	`user_id` text NOT NULL,
	`day` text NOT NULL,
	`agent_id` text NOT NULL,
	`tool_name` text NOT NULL,
	`calls` integer NOT NULL,
	`successes` integer NOT NULL,
	`timed_calls` integer NOT NULL,
	`duration_ms` integer NOT NULL,
	PRIMARY KEY(`user_id`, `day`, `agent_id`, `tool_name`)
) STRICT;
--> statement-breakpoint
CREATE INDEX `tool_days_by_day` ON `tool_days` (`day`);--> statement-breakpoint
DROP INDEX `chat_sessions_by_agent`;--> statement-breakpoint
CREATE INDEX `chat_sessions_by_user` ON `chat_sessions` (`user_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `chat_sessions_by_agent` ON `chat_sessions` (`agent_id`,`last_activity`);--> statement-breakpoint
DROP INDEX `messages_by_agent`;--> statement-breakpoint
CREATE INDEX `messages_by_user` ON `messages` (`user_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `messages_by_agent` ON `messages` (`agent_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `email_tokens_by_expiry` ON `email_tokens` (`expires_at`);--> statement-breakpoint
CREATE INDEX `referrals_by_referrer` ON `referrals` (`referrer_id`);--> statement-breakpoint
CREATE INDEX `audit_log_by_actor` ON `audit_log` (`actor`);--> statement-breakpoint
CREATE INDEX `git_credentials_by_agent` ON `git_credentials` (`agent_id`);--> statement-breakpoint
CREATE INDEX `clone_payments_by_agent` ON `clone_payments` (`agent_id`);--> statement-breakpoint
CREATE INDEX `invites_by_creator` ON `invites` (`created_by`);--> statement-breakpoint
CREATE INDEX `notification_deliveries_by_time` ON `notification_deliveries` (`created_at`);--> statement-breakpoint
CREATE INDEX `watchdog_events_by_time` ON `watchdog_events` (`at`);--> statement-breakpoint
CREATE INDEX `watchdog_hours_by_time` ON `watchdog_hours` (`hour`);--> statement-breakpoint
INSERT INTO `tool_days` (`user_id`, `day`, `agent_id`, `tool_name`, `calls`, `successes`, `timed_calls`, `duration_ms`)
SELECT `user_id`, date(`created_at` / 1000, 'unixepoch'), coalesce(`agent_id`, ''), `tool_name`, count(*), sum(`success`), count(`duration_ms`), coalesce(sum(`duration_ms`), 0)
FROM `tool_events` GROUP BY 1, 2, 3, 4;
