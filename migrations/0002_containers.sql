CREATE TABLE `clone_payments` (
	`chain_id` integer NOT NULL,
	`transaction_hash` text NOT NULL,
	`log_index` integer NOT NULL,
	`agent_id` text,
	`claimed_at` integer NOT NULL,
	PRIMARY KEY(`chain_id`, `transaction_hash`, `log_index`),
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE set null
) STRICT;
--> statement-breakpoint
CREATE TABLE `deployment_history` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`agent_id` text NOT NULL,
	`kind` text NOT NULL,
	`requested_by` text NOT NULL,
	`status_before` text NOT NULL,
	`image` text,
	`previous_image` text,
	`step` text NOT NULL,
	`result` text,
	`error` text,
	`log_tail` text,
	`snapshot` text,
	`requested_at` integer NOT NULL,
	`started_at` integer,
	`finished_at` integer,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "deployment_history_kind" CHECK("deployment_history"."kind" IN ('deploy', 'start', 'restart', 'update', 'repair', 'reset-memory')),
	CONSTRAINT "deployment_history_step" CHECK("deployment_history"."step" IN ('queued', 'pull', 'stop', 'snapshot', 'port', 'starting', 'health', 'reset', 'restore', 'done')),
	CONSTRAINT "deployment_history_result" CHECK("deployment_history"."result" IN ('succeeded', 'failed', 'rolled-back', 'replaced', 'cancelled'))
) STRICT;
--> statement-breakpoint
CREATE INDEX `deployment_history_by_agent` ON `deployment_history` (`agent_id`,`id`);--> statement-breakpoint
CREATE TABLE `installations` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`owner_id` text,
	`name` text NOT NULL,
	`mode` text NOT NULL,
	`gateway_url` text,
	`gateway_token` text,
	`status` text NOT NULL,
	`registered_at` integer NOT NULL,
	`last_seen_at` integer NOT NULL,
	FOREIGN KEY (`owner_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "installations_mode" CHECK("installations"."mode" IN ('home', 'link', 'cloud')),
	CONSTRAINT "installations_status" CHECK("installations"."status" IN ('active', 'inactive'))
) STRICT;
--> statement-breakpoint
CREATE INDEX `installations_by_owner` ON `installations` (`owner_id`);--> statement-breakpoint
CREATE INDEX `installations_by_activity` ON `installations` (`status`,`last_seen_at`);--> statement-breakpoint
CREATE UNIQUE INDEX `installations_of_user` ON `installations` (`user_id`,`name`);--> statement-breakpoint
CREATE TABLE `log_lines` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`agent_id` text NOT NULL,
	`at` integer NOT NULL,
	`stream` text NOT NULL,
	`text` text NOT NULL,
	`size_bytes` integer NOT NULL,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "log_lines_stream" CHECK("log_lines"."stream" IN ('stdout', 'stderr', 'platform', 'exit'))
) STRICT;
--> statement-breakpoint
CREATE INDEX `log_lines_by_agent` ON `log_lines` (`agent_id`,`sequence`);--> statement-breakpoint
CREATE TABLE `log_sources` (
	`agent_id` text PRIMARY KEY NOT NULL,
	`cursor` text,
	`size_bytes` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE TABLE `agent_metric_hours` (
	`agent_id` text NOT NULL,
	`hour` integer NOT NULL,
	`samples` integer DEFAULT 0 NOT NULL,
	`measured` integer DEFAULT 0 NOT NULL,
	`cpu_percent_sum` real DEFAULT 0 NOT NULL,
	`memory_percent_sum` real DEFAULT 0 NOT NULL,
	`messages` integer DEFAULT 0 NOT NULL,
	`errors` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`agent_id`, `hour`),
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `agent_metric_hours_by_time` ON `agent_metric_hours` (`hour`);--> statement-breakpoint
CREATE TABLE `agent_metrics` (
	`agent_id` text NOT NULL,
	`sampled_at` integer NOT NULL,
	`cpu_percent` real NOT NULL,
	`memory_bytes` integer NOT NULL,
	`memory_limit_bytes` integer NOT NULL,
	`messages` integer NOT NULL,
	`errors` integer NOT NULL,
	PRIMARY KEY(`agent_id`, `sampled_at`),
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `agent_metrics_by_time` ON `agent_metrics` (`sampled_at`);--> statement-breakpoint
CREATE TABLE `platform_hours` (
	`hour` integer PRIMARY KEY NOT NULL,
	`first_at` integer NOT NULL,
	`last_at` integer NOT NULL,
	`up_ms` integer NOT NULL,
	`message_sequence` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TABLE `notification_deliveries` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`notification_id` text NOT NULL,
	`channel` text NOT NULL,
	`kind` text NOT NULL,
	`agent_id` text,
	`notification` text NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`status` integer,
	`error` text,
	`created_at` integer NOT NULL,
	`delivered_at` integer,
	CONSTRAINT "notification_deliveries_channel" CHECK("notification_deliveries"."channel" IN ('telegram', 'webhook'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `notification_deliveries_once` ON `notification_deliveries` (`notification_id`,`channel`);--> statement-breakpoint
CREATE INDEX `notification_deliveries_waiting` ON `notification_deliveries` (`channel`,`delivered_at`);--> statement-breakpoint
CREATE TABLE `agent_verifications` (
	`agent_id` text PRIMARY KEY NOT NULL,
	`type` text NOT NULL,
	`attestation_uid` text,
	`verifier_address` text,
	`metadata` text NOT NULL,
	`verified_at` integer NOT NULL,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "agent_verifications_type" CHECK("agent_verifications"."type" IN ('eas', 'coinbase', 'ens'))
) STRICT;
--> statement-breakpoint
CREATE TABLE `verification_challenges` (
	`agent_id` text PRIMARY KEY NOT NULL,
	`message` text NOT NULL,
	`expires_at` integer NOT NULL,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE TABLE `host_faults` (
	`id` text PRIMARY KEY NOT NULL,
	`failing` integer NOT NULL,
	`watched` integer NOT NULL,
	`started_at` integer NOT NULL,
	`ended_at` integer
) STRICT;
--> statement-breakpoint
CREATE TABLE `watchdog_events` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`agent_id` text NOT NULL,
	`kind` text NOT NULL,
	`state` text NOT NULL,
	`attempt` integer NOT NULL,
	`exit_code` integer,
	`out_of_memory` integer NOT NULL,
	`at` integer NOT NULL,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "watchdog_events_kind" CHECK("watchdog_events"."kind" IN ('starting', 'running', 'stopped', 'degraded', 'recovered', 'crash', 'crash_loop', 'repair_started', 'repaired', 'repair_failed')),
	CONSTRAINT "watchdog_events_state" CHECK("watchdog_events"."state" IN ('stopped', 'starting', 'running', 'degraded', 'crash_loop', 'repairing'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `watchdog_events_id_unique` ON `watchdog_events` (`id`);--> statement-breakpoint
CREATE INDEX `watchdog_events_by_agent` ON `watchdog_events` (`agent_id`,`sequence`);--> statement-breakpoint
CREATE TABLE `watchdog_hours` (
	`agent_id` text NOT NULL,
	`hour` integer NOT NULL,
	`up_ms` integer NOT NULL,
	`down_ms` integer NOT NULL,
	`unknown_ms` integer NOT NULL,
	PRIMARY KEY(`agent_id`, `hour`),
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE TABLE `watchdogs` (
	`agent_id` text PRIMARY KEY NOT NULL,
	`state` text NOT NULL,
	`since` integer NOT NULL,
	`healthy_since` integer,
	`failures` integer NOT NULL,
	`counted_at` integer,
	`attempts` integer NOT NULL,
	`crashes` text NOT NULL,
	`agent_started_at` integer,
	`process_started_at` integer,
	`process_restarts` integer,
	`exit_code` integer,
	`out_of_memory` integer DEFAULT false NOT NULL,
	`next_check_at` integer NOT NULL,
	`last_probe_at` integer,
	`last_probe_healthy` integer,
	`watched_until` integer NOT NULL,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "watchdogs_state" CHECK("watchdogs"."state" IN ('stopped', 'starting', 'running', 'degraded', 'crash_loop', 'repairing'))
) STRICT;
--> statement-breakpoint
CREATE TABLE `idempotency_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`request_hash` text NOT NULL,
	`status` integer,
	`answer` text,
	`reference` text,
	`expires_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `idempotency_keys_by_expiry` ON `idempotency_keys` (`expires_at`);--> statement-breakpoint
ALTER TABLE `agents` ADD `host` text;--> statement-breakpoint
ALTER TABLE `agents` ADD `image` text;--> statement-breakpoint
ALTER TABLE `agents` ADD `kind` text DEFAULT 'stead' NOT NULL;--> statement-breakpoint
ALTER TABLE `agents` ADD `runtime_version` text;--> statement-breakpoint
ALTER TABLE `agents` ADD `config` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE `agents` ADD `secret_config` text;--> statement-breakpoint
ALTER TABLE `agents` ADD `parent_id` text;--> statement-breakpoint
ALTER TABLE `agents` ADD `generation` integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE `agents` ADD `specialization` text;--> statement-breakpoint
ALTER TABLE `deployments` ADD `detail` text;