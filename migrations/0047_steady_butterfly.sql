PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE `__new_agents` (
	`id` text PRIMARY KEY NOT NULL,
	`owner_id` text,
	`name` text NOT NULL,
	`model` text NOT NULL,
	`plan` text NOT NULL,
	`ai_provider` text NOT NULL,
	`status` text NOT NULL,
	`port` integer,
	`host` text,
	`image` text,
	`runtime` text,
	`kind` text DEFAULT 'stead' NOT NULL,
	`runtime_version` text,
	`config` text DEFAULT '{}' NOT NULL,
	`secret_config` text,
	`parent_id` text,
	`generation` integer DEFAULT 1 NOT NULL,
	`specialization` text,
	`gateway_token` text NOT NULL,
	`access_token` text NOT NULL,
	`access_token_hash` text NOT NULL,
	`retiring_token_hash` text,
	`tokens_changed_at` integer,
	`started_at` integer,
	`down_at` integer,
	`last_error` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`owner_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "agents_status" CHECK("__new_agents"."status" IN ('pending', 'provisioning', 'running', 'sleeping', 'stopped', 'error', 'unknown'))
) STRICT;
--> statement-breakpoint
INSERT INTO `__new_agents`("id", "owner_id", "name", "model", "plan", "ai_provider", "status", "port", "host", "image", "runtime", "kind", "runtime_version", "config", "secret_config", "parent_id", "generation", "specialization", "gateway_token", "access_token", "access_token_hash", "retiring_token_hash", "tokens_changed_at", "started_at", "down_at", "last_error", "created_at", "updated_at") SELECT "id", "owner_id", "name", "model", "plan", "ai_provider", "status", "port", "host", "image", "runtime", "kind", "runtime_version", "config", "secret_config", "parent_id", "generation", "specialization", "gateway_token", "access_token", "access_token_hash", "retiring_token_hash", "tokens_changed_at", "started_at", "down_at", "last_error", "created_at", "updated_at" FROM `agents`;--> statement-breakpoint
DROP TABLE `agents`;--> statement-breakpoint
ALTER TABLE `__new_agents` RENAME TO `agents`;--> statement-breakpoint
PRAGMA foreign_keys=ON;--> statement-breakpoint
CREATE UNIQUE INDEX `agents_port_unique` ON `agents` (`port`);--> statement-breakpoint
CREATE UNIQUE INDEX `agents_accessTokenHash_unique` ON `agents` (`access_token_hash`);--> statement-breakpoint
CREATE INDEX `agents_by_owner` ON `agents` (`owner_id`);--> statement-breakpoint
CREATE INDEX `agents_by_retiring_token` ON `agents` (`retiring_token_hash`);--> statement-breakpoint
CREATE TABLE `__new_watchdog_events` (
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
	CONSTRAINT "watchdog_events_kind" CHECK("__new_watchdog_events"."kind" IN ('starting', 'running', 'stopped', 'sleeping', 'degraded', 'recovered', 'crash', 'crash_loop', 'repair_started', 'repaired', 'repair_failed')),
	CONSTRAINT "watchdog_events_state" CHECK("__new_watchdog_events"."state" IN ('stopped', 'sleeping', 'starting', 'running', 'degraded', 'crash_loop', 'repairing'))
) STRICT;
--> statement-breakpoint
INSERT INTO `__new_watchdog_events`("sequence", "id", "agent_id", "kind", "state", "attempt", "exit_code", "out_of_memory", "at") SELECT "sequence", "id", "agent_id", "kind", "state", "attempt", "exit_code", "out_of_memory", "at" FROM `watchdog_events`;--> statement-breakpoint
DROP TABLE `watchdog_events`;--> statement-breakpoint
ALTER TABLE `__new_watchdog_events` RENAME TO `watchdog_events`;--> statement-breakpoint
CREATE UNIQUE INDEX `watchdog_events_id_unique` ON `watchdog_events` (`id`);--> statement-breakpoint
CREATE INDEX `watchdog_events_by_agent` ON `watchdog_events` (`agent_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `watchdog_events_by_time` ON `watchdog_events` (`at`);--> statement-breakpoint
CREATE TABLE `__new_watchdogs` (
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
	CONSTRAINT "watchdogs_state" CHECK("__new_watchdogs"."state" IN ('stopped', 'sleeping', 'starting', 'running', 'degraded', 'crash_loop', 'repairing'))
) STRICT;
--> statement-breakpoint
INSERT INTO `__new_watchdogs`("agent_id", "state", "since", "healthy_since", "failures", "counted_at", "attempts", "crashes", "agent_started_at", "process_started_at", "process_restarts", "exit_code", "out_of_memory", "next_check_at", "last_probe_at", "last_probe_healthy", "watched_until") SELECT "agent_id", "state", "since", "healthy_since", "failures", "counted_at", "attempts", "crashes", "agent_started_at", "process_started_at", "process_restarts", "exit_code", "out_of_memory", "next_check_at", "last_probe_at", "last_probe_healthy", "watched_until" FROM `watchdogs`;--> statement-breakpoint
DROP TABLE `watchdogs`;--> statement-breakpoint
ALTER TABLE `__new_watchdogs` RENAME TO `watchdogs`;