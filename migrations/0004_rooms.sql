CREATE TABLE `agent_credentials` (
	`user_id` text NOT NULL,
	`key` text NOT NULL,
	`sealed_value` text NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`user_id`, `key`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE TABLE `agent_skills` (
	`user_id` text NOT NULL,
	`skill_id` text NOT NULL,
	`enabled` integer NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`user_id`, `skill_id`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE TABLE `git_credentials` (
	`workspace` text NOT NULL,
	`origin` text NOT NULL,
	`agent_id` text,
	`username` text NOT NULL,
	`sealed_password` text NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`workspace`, `origin`),
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE TABLE `chat_sessions` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_activity` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `chat_sessions_id_unique` ON `chat_sessions` (`id`);--> statement-breakpoint
CREATE INDEX `chat_sessions_by_agent` ON `chat_sessions` (`user_id`,`agent_id`,`last_activity`);--> statement-breakpoint
CREATE TABLE `heartbeats` (
	`user_id` text PRIMARY KEY NOT NULL,
	`agent_id` text,
	`frequency` text NOT NULL,
	`every_ms` integer NOT NULL,
	`enabled` integer NOT NULL,
	`last_heartbeat_at` integer,
	`next_heartbeat_at` integer,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `heartbeats_due` ON `heartbeats` (`next_heartbeat_at`);--> statement-breakpoint
CREATE INDEX `heartbeats_by_agent` ON `heartbeats` (`agent_id`);--> statement-breakpoint
CREATE TABLE `inbox_messages` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`agent_id` text NOT NULL,
	`sender` text NOT NULL,
	`subject` text NOT NULL,
	`text` text NOT NULL,
	`status` text NOT NULL,
	`reply` text,
	`error` text,
	`received_at` integer NOT NULL,
	`delivered_at` integer,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "inbox_messages_status" CHECK("inbox_messages"."status" IN ('queued', 'delivered', 'failed'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `inbox_messages_id_unique` ON `inbox_messages` (`id`);--> statement-breakpoint
CREATE INDEX `inbox_messages_by_agent` ON `inbox_messages` (`agent_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `inbox_messages_by_sender` ON `inbox_messages` (`sender`,`received_at`);--> statement-breakpoint
CREATE TABLE `agent_memory` (
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`key` text NOT NULL,
	`value` text NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`user_id`, `agent_id`, `key`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE TABLE `radio_streams` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`provider_id` text,
	`name` text NOT NULL,
	`wallet` text NOT NULL,
	`playback_id` text,
	`status` text NOT NULL,
	`status_at` integer NOT NULL,
	`recording_asset_id` text,
	`recording_playback_id` text,
	`recording_seconds` integer,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "radio_streams_status" CHECK("radio_streams"."status" IN ('creating', 'created', 'active', 'idle'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `radio_streams_providerId_unique` ON `radio_streams` (`provider_id`);--> statement-breakpoint
CREATE INDEX `radio_streams_by_user` ON `radio_streams` (`user_id`);--> statement-breakpoint
CREATE TABLE `scheduled_runs` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`task_id` text,
	`owner_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`trigger` text NOT NULL,
	`prompt` text,
	`status` text NOT NULL,
	`due_at` integer NOT NULL,
	`started_at` integer,
	`finished_at` integer,
	`message_id` text,
	`error` text,
	FOREIGN KEY (`task_id`) REFERENCES `scheduled_tasks`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`owner_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "scheduled_runs_trigger" CHECK("scheduled_runs"."trigger" IN ('schedule', 'manual', 'heartbeat')),
	CONSTRAINT "scheduled_runs_status" CHECK("scheduled_runs"."status" IN ('queued', 'running', 'succeeded', 'failed', 'skipped'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `scheduled_runs_id_unique` ON `scheduled_runs` (`id`);--> statement-breakpoint
CREATE INDEX `scheduled_runs_by_task` ON `scheduled_runs` (`task_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `scheduled_runs_by_agent` ON `scheduled_runs` (`agent_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `scheduled_runs_by_status` ON `scheduled_runs` (`status`,`sequence`);--> statement-breakpoint
CREATE INDEX `scheduled_runs_by_owner` ON `scheduled_runs` (`owner_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `scheduled_runs_unfinished_task` ON `scheduled_runs` (`task_id`) WHERE "scheduled_runs"."status" IN ('queued', 'running');--> statement-breakpoint
CREATE UNIQUE INDEX `scheduled_runs_unfinished_heartbeat` ON `scheduled_runs` (`agent_id`) WHERE "scheduled_runs"."task_id" IS NULL AND "scheduled_runs"."status" IN ('queued', 'running');--> statement-breakpoint
CREATE TABLE `scheduled_tasks` (
	`id` text PRIMARY KEY NOT NULL,
	`owner_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`cron_schedule` text NOT NULL,
	`timezone` text NOT NULL,
	`prompt` text NOT NULL,
	`enabled` integer NOT NULL,
	`last_run_at` integer,
	`next_run_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`owner_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `scheduled_tasks_by_owner` ON `scheduled_tasks` (`owner_id`);--> statement-breakpoint
CREATE INDEX `scheduled_tasks_by_agent` ON `scheduled_tasks` (`agent_id`);--> statement-breakpoint
CREATE INDEX `scheduled_tasks_due` ON `scheduled_tasks` (`next_run_at`);--> statement-breakpoint
CREATE TABLE `swarm_answers` (
	`run_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`agent_name` text NOT NULL,
	`position` integer NOT NULL,
	`message` text NOT NULL,
	`state` text NOT NULL,
	`reply` text,
	`error` text,
	`error_kind` text,
	`started_at` integer,
	`finished_at` integer,
	PRIMARY KEY(`run_id`, `agent_id`),
	FOREIGN KEY (`run_id`) REFERENCES `swarm_runs`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "swarm_answers_state" CHECK("swarm_answers"."state" IN ('queued', 'running', 'completed', 'failed', 'cancelled'))
) STRICT;
--> statement-breakpoint
CREATE TABLE `swarm_runs` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`swarm_id` text NOT NULL,
	`owner_id` text NOT NULL,
	`task` text NOT NULL,
	`summarizer` text,
	`summary` text,
	`summary_error` text,
	`state` text NOT NULL,
	`started_at` integer NOT NULL,
	`finished_at` integer,
	FOREIGN KEY (`swarm_id`) REFERENCES `swarms`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`owner_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "swarm_runs_state" CHECK("swarm_runs"."state" IN ('running', 'completed', 'partially_failed', 'failed', 'cancelled'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `swarm_runs_id_unique` ON `swarm_runs` (`id`);--> statement-breakpoint
CREATE INDEX `swarm_runs_by_swarm` ON `swarm_runs` (`swarm_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `swarm_runs_by_owner` ON `swarm_runs` (`owner_id`,`sequence`);--> statement-breakpoint
CREATE TABLE `swarms` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`owner_id` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`agents` text NOT NULL,
	`summarizer` text,
	`enabled` integer DEFAULT true NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`owner_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `swarms_id_unique` ON `swarms` (`id`);--> statement-breakpoint
CREATE INDEX `swarms_by_owner` ON `swarms` (`owner_id`,`sequence`);--> statement-breakpoint
CREATE TABLE `videos` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`type` text NOT NULL,
	`prompt` text NOT NULL,
	`image_url` text,
	`status` text NOT NULL,
	`provider_id` text,
	`error` text,
	`size_bytes` integer,
	`created_at` integer NOT NULL,
	`finished_at` integer,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "videos_status" CHECK("videos"."status" IN ('queued', 'processing', 'completed', 'failed'))
) STRICT;
--> statement-breakpoint
CREATE INDEX `videos_by_user` ON `videos` (`user_id`,`status`);--> statement-breakpoint
CREATE TABLE `webhook_events` (
	`source` text NOT NULL,
	`id` text NOT NULL,
	`type` text NOT NULL,
	`subject` text,
	`outcome` text NOT NULL,
	`received_at` integer NOT NULL,
	PRIMARY KEY(`source`, `id`)
) STRICT;
--> statement-breakpoint
CREATE INDEX `webhook_events_by_time` ON `webhook_events` (`received_at`);--> statement-breakpoint
ALTER TABLE `messages` ADD `session_id` text REFERENCES chat_sessions(id);--> statement-breakpoint
CREATE INDEX `messages_by_session` ON `messages` (`session_id`,`sequence`);