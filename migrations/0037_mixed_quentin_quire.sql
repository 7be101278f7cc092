CREATE TABLE `notice_channels` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`kind` text NOT NULL,
	`name` text NOT NULL,
	`sealed_recipient` text NOT NULL,
	`kinds` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_sent_at` integer,
	`last_error` text,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "notice_channels_kind" CHECK("notice_channels"."kind" IN ('telegram', 'discord', 'ntfy', 'webhook'))
) STRICT;
--> statement-breakpoint
CREATE INDEX `notice_channels_by_user` ON `notice_channels` (`user_id`);--> statement-breakpoint
CREATE TABLE `notice_deliveries` (
	`notice_id` text NOT NULL,
	`channel_id` text NOT NULL,
	`due_at` integer NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`error` text,
	`sent_at` integer,
	PRIMARY KEY(`notice_id`, `channel_id`),
	FOREIGN KEY (`notice_id`) REFERENCES `notices`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `notice_deliveries_waiting` ON `notice_deliveries` (`channel_id`,`sent_at`);--> statement-breakpoint
CREATE TABLE `notice_settings` (
	`user_id` text PRIMARY KEY NOT NULL,
	`mail_kinds` text NOT NULL,
	`quiet_from` text,
	`quiet_to` text,
	`time_zone` text DEFAULT 'UTC' NOT NULL,
	`resend_minutes` integer,
	`muted_agents` text NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE TABLE `notices` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`user_id` text NOT NULL,
	`agent_id` text,
	`agent_name` text,
	`kind` text NOT NULL,
	`text` text NOT NULL,
	`reminders` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`told_at` integer NOT NULL,
	`ended_at` integer,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "notices_kind" CHECK("notices"."kind" IN ('down', 'recovered', 'given_up', 'cap_near', 'approval_wanted', 'task_failed', 'test'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `notices_id_unique` ON `notices` (`id`);--> statement-breakpoint
CREATE INDEX `notices_by_user` ON `notices` (`user_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `notices_open` ON `notices` (`ended_at`,`told_at`);--> statement-breakpoint
CREATE INDEX `notices_by_time` ON `notices` (`created_at`);