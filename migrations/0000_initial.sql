CREATE TABLE `audit_log` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`actor` text NOT NULL,
	`action` text NOT NULL,
	`target` text NOT NULL,
	`detail` text DEFAULT '{}' NOT NULL,
	`address` text,
	`request_id` text,
	`created_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `audit_log_by_actor` ON `audit_log` (`actor`);--> statement-breakpoint
CREATE INDEX `audit_log_by_target` ON `audit_log` (`target`);--> statement-breakpoint
CREATE INDEX `audit_log_by_time` ON `audit_log` (`created_at`);--> statement-breakpoint
CREATE TABLE `kept_keys` (
	`name` text PRIMARY KEY NOT NULL,
	`sealed_key` text NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TABLE `sealing` (
	`id` integer PRIMARY KEY NOT NULL,
	`key_check` text NOT NULL,
	CONSTRAINT "sealing_one" CHECK("sealing"."id" = 1)
) STRICT;
--> statement-breakpoint
CREATE TABLE `invites` (
	`code_hash` text PRIMARY KEY NOT NULL,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`used_at` integer,
	`plan` text
) STRICT;
--> statement-breakpoint
CREATE INDEX `invites_by_creator` ON `invites` (`created_by`);--> statement-breakpoint
CREATE INDEX `invites_by_time` ON `invites` (`created_at`,`code_hash`);--> statement-breakpoint
CREATE TABLE `api_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`name` text NOT NULL,
	`prefix` text NOT NULL,
	`hash` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_used_at` integer,
	`scopes` text DEFAULT '[]' NOT NULL,
	`expires_at` integer,
	`disabled_at` integer,
	`budget_micro_usd` integer,
	`tokens_per_month` integer,
	`models` text,
	`requests_per_minute` integer,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_hash_unique` ON `api_keys` (`hash`);--> statement-breakpoint
CREATE INDEX `api_keys_by_user` ON `api_keys` (`user_id`);--> statement-breakpoint
CREATE INDEX `api_keys_by_prefix` ON `api_keys` (`prefix`);--> statement-breakpoint
CREATE TABLE `notice_channels` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`kind` text NOT NULL,
	`name` text NOT NULL,
	`destination` text DEFAULT '' NOT NULL,
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
	CONSTRAINT "notices_kind" CHECK("notices"."kind" IN ('down', 'recovered', 'given_up', 'cap_near', 'cap_reached', 'approval_wanted', 'turn_limited', 'task_failed', 'backup_failed', 'test'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `notices_id_unique` ON `notices` (`id`);--> statement-breakpoint
CREATE INDEX `notices_by_user` ON `notices` (`user_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `notices_open` ON `notices` (`ended_at`,`told_at`);--> statement-breakpoint
CREATE INDEX `notices_by_time` ON `notices` (`created_at`);--> statement-breakpoint
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
CREATE INDEX `notification_deliveries_by_time` ON `notification_deliveries` (`created_at`);--> statement-breakpoint
CREATE TABLE `plans` (
	`name` text PRIMARY KEY NOT NULL,
	`models` text,
	`agents` integer,
	`skills` integer,
	`messages_per_day` integer,
	`tokens_per_month` integer,
	`usd_per_month` real,
	`storage_gb` real NOT NULL,
	`source` text NOT NULL,
	`updated_at` integer NOT NULL,
	CONSTRAINT "plans_source" CHECK("plans"."source" IN ('file', 'dashboard'))
) STRICT;
--> statement-breakpoint
CREATE TABLE `setup_links` (
	`id` integer PRIMARY KEY NOT NULL,
	`token_hash` text NOT NULL,
	`expires_at` integer NOT NULL,
	CONSTRAINT "setup_links_one" CHECK("setup_links"."id" = 1)
) STRICT;
--> statement-breakpoint
CREATE TABLE `security_events` (
	`issuer` text NOT NULL,
	`jti` text NOT NULL,
	`claims` text NOT NULL,
	`received_at` integer NOT NULL,
	`handled_at` integer,
	`outcome` text,
	PRIMARY KEY(`issuer`, `jti`)
) STRICT;
--> statement-breakpoint
CREATE INDEX `security_events_by_time` ON `security_events` (`received_at`);--> statement-breakpoint
CREATE TABLE `service_credentials` (
	`name` text PRIMARY KEY NOT NULL,
	`sealed_value` text NOT NULL,
	`updated_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TABLE `identities` (
	`issuer` text NOT NULL,
	`subject` text NOT NULL,
	`user_id` text NOT NULL,
	`provider` text NOT NULL,
	`email` text NOT NULL,
	`refresh_token` text,
	`refresh_token_hash` text,
	`created_at` integer NOT NULL,
	`last_used_at` integer NOT NULL,
	PRIMARY KEY(`issuer`, `subject`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "identities_provider" CHECK("identities"."provider" IN ('idp-a', 'idp-b'))
) STRICT;
--> statement-breakpoint
CREATE INDEX `identities_by_user` ON `identities` (`user_id`);--> statement-breakpoint
CREATE INDEX `identities_by_refresh_token` ON `identities` (`refresh_token_hash`);--> statement-breakpoint
CREATE TABLE `sign_in_attempts` (
	`state_hash` text PRIMARY KEY NOT NULL,
	`provider` text NOT NULL,
	`browser_hash` text NOT NULL,
	`secrets` text NOT NULL,
	`expires_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `sign_in_attempts_by_expiry` ON `sign_in_attempts` (`expires_at`);--> statement-breakpoint
CREATE TABLE `wallet_nonces` (
	`nonce` text PRIMARY KEY NOT NULL,
	`expires_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `wallet_nonces_by_expiry` ON `wallet_nonces` (`expires_at`);--> statement-breakpoint
CREATE TABLE `sign_in_wallets` (
	`chain_id` integer NOT NULL,
	`address` text NOT NULL,
	`user_id` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`chain_id`, `address`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `sign_in_wallets_by_user` ON `sign_in_wallets` (`user_id`);--> statement-breakpoint
CREATE TABLE `email_tokens` (
	`token_hash` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`purpose` text NOT NULL,
	`email` text NOT NULL,
	`expires_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "email_tokens_purpose" CHECK("email_tokens"."purpose" IN ('reset-password', 'verify-email', 'change-email'))
) STRICT;
--> statement-breakpoint
CREATE INDEX `email_tokens_by_user` ON `email_tokens` (`user_id`);--> statement-breakpoint
CREATE INDEX `email_tokens_by_expiry` ON `email_tokens` (`expires_at`);--> statement-breakpoint
CREATE TABLE `recovery_codes` (
	`code_hash` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `recovery_codes_by_user` ON `recovery_codes` (`user_id`);--> statement-breakpoint
CREATE TABLE `referrals` (
	`new_user_id` text PRIMARY KEY NOT NULL,
	`referrer_id` text NOT NULL,
	`credits` integer NOT NULL,
	`created_at` integer NOT NULL,
	`credited_at` integer,
	FOREIGN KEY (`new_user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `referrals_by_referrer` ON `referrals` (`referrer_id`,`credited_at`);--> statement-breakpoint
CREATE TABLE `sessions` (
	`token_hash` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`last_seen_at` integer,
	`user_agent` text,
	`address` text,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `sessions_by_user` ON `sessions` (`user_id`);--> statement-breakpoint
CREATE INDEX `sessions_by_expiry` ON `sessions` (`expires_at`);--> statement-breakpoint
CREATE TABLE `throttles` (
	`key` text PRIMARY KEY NOT NULL,
	`count` integer NOT NULL,
	`reset_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `throttles_by_reset` ON `throttles` (`reset_at`);--> statement-breakpoint
CREATE TABLE `users` (
	`id` text PRIMARY KEY NOT NULL,
	`email` text NOT NULL,
	`name` text NOT NULL,
	`password_hash` text,
	`is_admin` integer DEFAULT false NOT NULL,
	`plan` text DEFAULT 'free' NOT NULL,
	`subscription_status` text DEFAULT 'inactive' NOT NULL,
	`subscription_id` text,
	`credits` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`email_verified_at` integer,
	`notifications` text DEFAULT '{}' NOT NULL,
	`time_zone` text,
	`referral_code` text,
	`two_factor_secret` text,
	`two_factor_enabled_at` integer,
	`two_factor_step` integer DEFAULT 0 NOT NULL,
	`disabled_at` integer,
	`external_sign_in_disabled_at` integer,
	CONSTRAINT "users_email_is_lower_case" CHECK("users"."email" = lower("users"."email")),
	CONSTRAINT "users_subscription_status" CHECK("users"."subscription_status" IN ('inactive', 'active', 'past_due', 'canceled'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `users_email_unique` ON `users` (`email`);--> statement-breakpoint
CREATE UNIQUE INDEX `users_referralCode_unique` ON `users` (`referral_code`);--> statement-breakpoint
CREATE INDEX `users_by_time` ON `users` (`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `backup_runs` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`kind` text DEFAULT 'backup' NOT NULL,
	`started_at` integer NOT NULL,
	`finished_at` integer,
	`file` text,
	`size_bytes` integer,
	`verified_at` integer,
	`error` text,
	`outcome` text
) STRICT;
--> statement-breakpoint
CREATE INDEX `backup_runs_by_time` ON `backup_runs` (`started_at`);--> statement-breakpoint
CREATE TABLE `agent_channels` (
	`agent_id` text NOT NULL,
	`name` text NOT NULL,
	`since` integer,
	`last_error` text,
	`last_error_at` integer,
	PRIMARY KEY(`agent_id`, `name`),
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "agent_channels_name" CHECK("agent_channels"."name" IN ('mail'))
) STRICT;
--> statement-breakpoint
CREATE TABLE `channel_pairings` (
	`agent_id` text NOT NULL,
	`channel` text NOT NULL,
	`person_id` text NOT NULL,
	`name` text NOT NULL,
	`code` text NOT NULL,
	`is_denied` integer DEFAULT false NOT NULL,
	`expires_at` integer NOT NULL,
	PRIMARY KEY(`agent_id`, `channel`, `person_id`),
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "channel_pairings_channel" CHECK("channel_pairings"."channel" IN ('mail'))
) STRICT;
--> statement-breakpoint
CREATE INDEX `channel_pairings_by_time` ON `channel_pairings` (`expires_at`);--> statement-breakpoint
CREATE TABLE `channel_people` (
	`agent_id` text NOT NULL,
	`channel` text NOT NULL,
	`person_id` text NOT NULL,
	`name` text NOT NULL,
	`since` integer NOT NULL,
	PRIMARY KEY(`agent_id`, `channel`, `person_id`),
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "channel_people_channel" CHECK("channel_people"."channel" IN ('mail'))
) STRICT;
--> statement-breakpoint
CREATE TABLE `clone_payments` (
	`chain_id` integer NOT NULL,
	`transaction_hash` text NOT NULL,
	`log_index` integer NOT NULL,
	`agent_id` text,
	`claimed_at` integer NOT NULL,
	`amount_micro_usd` integer,
	`undone_at` integer,
	`check_at` integer,
	PRIMARY KEY(`chain_id`, `transaction_hash`, `log_index`),
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE set null
) STRICT;
--> statement-breakpoint
CREATE INDEX `clone_payments_by_agent` ON `clone_payments` (`agent_id`);--> statement-breakpoint
CREATE INDEX `clone_payments_by_check` ON `clone_payments` (`check_at`);--> statement-breakpoint
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
CREATE TABLE `deployment_history` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`agent_id` text NOT NULL,
	`kind` text NOT NULL,
	`requested_by` text NOT NULL,
	`request_id` text,
	`status_before` text NOT NULL,
	`image` text,
	`previous_image` text,
	`step` text NOT NULL,
	`result` text,
	`error` text,
	`log_tail` text,
	`snapshot` text,
	`source` text,
	`requested_at` integer NOT NULL,
	`started_at` integer,
	`finished_at` integer,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "deployment_history_kind" CHECK("deployment_history"."kind" IN ('deploy', 'start', 'restart', 'update', 'repair', 'reset-memory', 'restore-snapshot')),
	CONSTRAINT "deployment_history_step" CHECK("deployment_history"."step" IN ('queued', 'pull', 'stop', 'snapshot', 'replace', 'port', 'starting', 'health', 'reset', 'restore', 'done')),
	CONSTRAINT "deployment_history_result" CHECK("deployment_history"."result" IN ('succeeded', 'failed', 'refused', 'rolled-back', 'replaced', 'cancelled'))
) STRICT;
--> statement-breakpoint
CREATE INDEX `deployment_history_by_agent` ON `deployment_history` (`agent_id`,`id`);--> statement-breakpoint
CREATE INDEX `deployment_history_of_versions` ON `deployment_history` (`finished_at`) WHERE result = 'succeeded' AND kind IN ('deploy', 'update');--> statement-breakpoint
CREATE TABLE `deployments` (
	`agent_id` text PRIMARY KEY NOT NULL,
	`step` text NOT NULL,
	`error` text,
	`detail` text,
	`requested_at` integer NOT NULL,
	`finished_at` integer,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "deployments_step" CHECK("deployments"."step" IN ('queued', 'port', 'starting', 'health', 'running', 'failed'))
) STRICT;
--> statement-breakpoint
CREATE TABLE `residence` (
	`id` integer PRIMARY KEY NOT NULL,
	`machine` text,
	`boot` text,
	`path` text NOT NULL,
	`volume` text,
	`inode` text NOT NULL,
	`database_file` text NOT NULL,
	`left_at` integer,
	`ran_containers_at` integer,
	CONSTRAINT "residence_one" CHECK("residence"."id" = 1)
) STRICT;
--> statement-breakpoint
CREATE TABLE `agent_labels` (
	`agent_id` text NOT NULL,
	`label` text NOT NULL,
	PRIMARY KEY(`agent_id`, `label`),
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `agent_labels_by_label` ON `agent_labels` (`label`);--> statement-breakpoint
CREATE TABLE `agents` (
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
	`restored_state` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`owner_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "agents_status" CHECK("agents"."status" IN ('pending', 'provisioning', 'running', 'sleeping', 'stopped', 'error', 'unknown'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `agents_port_unique` ON `agents` (`port`);--> statement-breakpoint
CREATE UNIQUE INDEX `agents_accessTokenHash_unique` ON `agents` (`access_token_hash`);--> statement-breakpoint
CREATE INDEX `agents_by_owner` ON `agents` (`owner_id`);--> statement-breakpoint
CREATE INDEX `agents_by_time` ON `agents` (`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `agents_by_runtime` ON `agents` (`runtime`);--> statement-breakpoint
CREATE INDEX `agents_by_version` ON `agents` (`started_at`) WHERE status IN ('running', 'sleeping') AND image IS NOT NULL AND runtime_version IS NOT NULL;--> statement-breakpoint
CREATE INDEX `agents_by_retiring_token` ON `agents` (`retiring_token_hash`);--> statement-breakpoint
CREATE TABLE `agent_storage` (
	`agent_id` text PRIMARY KEY NOT NULL,
	`owner_id` text,
	`message_bytes` integer DEFAULT 0 NOT NULL,
	`memory_bytes` integer DEFAULT 0 NOT NULL,
	`inbox_bytes` integer DEFAULT 0 NOT NULL,
	`workspace_bytes` integer DEFAULT 0 NOT NULL,
	`measured_at` integer,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `agent_storage_by_owner` ON `agent_storage` (`owner_id`);--> statement-breakpoint
CREATE INDEX `agent_storage_by_measurement` ON `agent_storage` (`measured_at`);--> statement-breakpoint
CREATE TABLE `user_storage` (
	`user_id` text PRIMARY KEY NOT NULL,
	`used_bytes` integer DEFAULT 0 NOT NULL,
	`granted_bytes` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
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
	CONSTRAINT "watchdog_events_kind" CHECK("watchdog_events"."kind" IN ('starting', 'running', 'stopped', 'sleeping', 'degraded', 'recovered', 'crash', 'crash_loop', 'repair_started', 'repaired', 'repair_failed')),
	CONSTRAINT "watchdog_events_state" CHECK("watchdog_events"."state" IN ('stopped', 'sleeping', 'starting', 'running', 'degraded', 'crash_loop', 'repairing'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `watchdog_events_id_unique` ON `watchdog_events` (`id`);--> statement-breakpoint
CREATE INDEX `watchdog_events_by_agent` ON `watchdog_events` (`agent_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `watchdog_events_by_time` ON `watchdog_events` (`at`);--> statement-breakpoint
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
CREATE INDEX `watchdog_hours_by_time` ON `watchdog_hours` (`hour`);--> statement-breakpoint
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
	CONSTRAINT "watchdogs_state" CHECK("watchdogs"."state" IN ('stopped', 'sleeping', 'starting', 'running', 'degraded', 'crash_loop', 'repairing'))
) STRICT;
--> statement-breakpoint
CREATE TABLE `agent_caps` (
	`agent_id` text PRIMARY KEY NOT NULL,
	`tokens_per_day` integer,
	`cost_micro_usd_per_day` integer,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE TABLE `cap_alerts` (
	`agent_id` text NOT NULL,
	`day` text NOT NULL,
	`percent` integer NOT NULL,
	PRIMARY KEY(`agent_id`, `day`, `percent`)
) STRICT;
--> statement-breakpoint
CREATE TABLE `pauses` (
	`id` text PRIMARY KEY NOT NULL,
	`scope` text NOT NULL,
	`agent_id` text,
	`owner_id` text,
	`reason` text NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`owner_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "pauses_scope" CHECK("pauses"."scope" IN ('agent', 'owner', 'platform'))
) STRICT;
--> statement-breakpoint
CREATE INDEX `pauses_by_agent` ON `pauses` (`agent_id`);--> statement-breakpoint
CREATE INDEX `pauses_by_owner` ON `pauses` (`owner_id`);--> statement-breakpoint
CREATE TABLE `provider_keys` (
	`user_id` text NOT NULL,
	`provider` text NOT NULL,
	`sealed_key` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`user_id`, `provider`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE TABLE `model_prices` (
	`model` text PRIMARY KEY NOT NULL,
	`input_usd_per_million` real NOT NULL,
	`output_usd_per_million` real NOT NULL,
	`cached_input_usd_per_million` real,
	`updated_at` integer NOT NULL
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
CREATE TABLE `tool_events` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`user_id` text NOT NULL,
	`agent_id` text,
	`session_id` text,
	`tool_name` text NOT NULL,
	`success` integer NOT NULL,
	`duration_ms` integer,
	`created_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `tool_events_by_time` ON `tool_events` (`created_at`);--> statement-breakpoint
CREATE INDEX `tool_events_by_user` ON `tool_events` (`user_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `usage_alerts` (
	`subject` text NOT NULL,
	`month` text NOT NULL,
	`percent` integer NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`subject`, `month`, `percent`)
) STRICT;
--> statement-breakpoint
CREATE TABLE `usage_days` (
	`user_id` text NOT NULL,
	`day` text NOT NULL,
	`agent_id` text NOT NULL,
	`model` text NOT NULL,
	`provider` text DEFAULT '' NOT NULL,
	`input_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`cost_micro_usd` integer NOT NULL,
	`calls` integer NOT NULL,
	`unpriced_calls` integer DEFAULT 0 NOT NULL,
	`own_key_cost_micro_usd` integer DEFAULT 0 NOT NULL,
	`estimated_tokens` integer DEFAULT 0 NOT NULL,
	`estimated_cost_micro_usd` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`user_id`, `day`, `agent_id`, `model`, `provider`)
) STRICT;
--> statement-breakpoint
CREATE INDEX `usage_days_by_day` ON `usage_days` (`day`);--> statement-breakpoint
CREATE TABLE `usage_key_days` (
	`user_id` text NOT NULL,
	`day` text NOT NULL,
	`key_id` text NOT NULL,
	`model` text NOT NULL,
	`tokens` integer NOT NULL,
	`cost_micro_usd` integer NOT NULL,
	`calls` integer NOT NULL,
	`unpriced_calls` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`user_id`, `day`, `key_id`, `model`)
) STRICT;
--> statement-breakpoint
CREATE INDEX `usage_key_days_by_key` ON `usage_key_days` (`key_id`,`day`);--> statement-breakpoint
CREATE TABLE `usage_key_months` (
	`key_id` text NOT NULL,
	`month` text NOT NULL,
	`tokens` integer NOT NULL,
	`cost_micro_usd` integer NOT NULL,
	`calls` integer NOT NULL,
	`unpriced_calls` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`key_id`, `month`)
) STRICT;
--> statement-breakpoint
CREATE TABLE `usage_logs` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`model` text NOT NULL,
	`input_tokens` integer DEFAULT 0 NOT NULL,
	`output_tokens` integer DEFAULT 0 NOT NULL,
	`cost_micro_usd` integer DEFAULT 0 NOT NULL,
	`is_unpriced` integer DEFAULT false NOT NULL,
	`endpoint` text,
	`latency_ms` integer,
	`success` integer DEFAULT true NOT NULL,
	`error_message` text,
	`created_at` integer NOT NULL,
	`generation_id` text,
	`provider` text DEFAULT '' NOT NULL,
	`key_id` text,
	`attempts` integer DEFAULT 1 NOT NULL,
	`is_own_key` integer DEFAULT false NOT NULL,
	`estimated` integer DEFAULT false NOT NULL
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `usage_logs_generationId_unique` ON `usage_logs` (`generation_id`);--> statement-breakpoint
CREATE INDEX `usage_logs_by_user` ON `usage_logs` (`user_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `usage_logs_by_time` ON `usage_logs` (`created_at`);--> statement-breakpoint
CREATE TABLE `usage_months` (
	`user_id` text NOT NULL,
	`month` text NOT NULL,
	`tokens` integer NOT NULL,
	`cost_micro_usd` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`user_id`, `month`)
) STRICT;
--> statement-breakpoint
CREATE TABLE `agent_credentials` (
	`user_id` text NOT NULL,
	`key` text NOT NULL,
	`sealed_value` text NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`user_id`, `key`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE TABLE `agent_tool_settings` (
	`agent_id` text PRIMARY KEY NOT NULL,
	`profile` text,
	`switches` text NOT NULL,
	`http_hosts` text DEFAULT '[]' NOT NULL,
	`model_turns` integer NOT NULL,
	`tool_calls` integer NOT NULL,
	`micro_usd_per_turn` integer,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "agent_tool_settings_profile" CHECK("agent_tool_settings"."profile" IN ('minimal', 'messaging', 'coding', 'full'))
) STRICT;
--> statement-breakpoint
CREATE TABLE `approvals` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`agent_id` text NOT NULL,
	`tool` text NOT NULL,
	`arguments` text NOT NULL,
	`arguments_hash` text NOT NULL,
	`session` text,
	`status` text NOT NULL,
	`decided_by` text,
	`decided_via` text,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`decided_at` integer,
	`used_at` integer,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "approvals_status" CHECK("approvals"."status" IN ('waiting', 'approved', 'denied', 'expired', 'used'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `approvals_id_unique` ON `approvals` (`id`);--> statement-breakpoint
CREATE INDEX `approvals_by_agent` ON `approvals` (`agent_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `approvals_by_agent_status` ON `approvals` (`agent_id`,`status`);--> statement-breakpoint
CREATE INDEX `approvals_by_status` ON `approvals` (`status`,`expires_at`);--> statement-breakpoint
CREATE INDEX `approvals_by_arguments` ON `approvals` (`agent_id`,`arguments_hash`);--> statement-breakpoint
CREATE TABLE `chat_attachments` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`message_id` text,
	`kind` text NOT NULL,
	`name` text NOT NULL,
	`media_type` text NOT NULL,
	`size_bytes` integer NOT NULL,
	`path` text NOT NULL,
	`excerpt` text,
	`text_path` text,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`message_id`) REFERENCES `messages`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "chat_attachments_kind" CHECK("chat_attachments"."kind" IN ('image', 'text', 'pdf'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `chat_attachments_id_unique` ON `chat_attachments` (`id`);--> statement-breakpoint
CREATE INDEX `chat_attachments_by_message` ON `chat_attachments` (`message_id`);--> statement-breakpoint
CREATE INDEX `chat_attachments_by_user` ON `chat_attachments` (`user_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `chat_attachments_by_agent` ON `chat_attachments` (`agent_id`,`sequence`);--> statement-breakpoint
CREATE TABLE `chat_sessions` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`title` text,
	`instructions` text,
	`created_at` integer NOT NULL,
	`last_activity` integer NOT NULL,
	`platform` text DEFAULT 'web' NOT NULL,
	`channel_key` text,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `chat_sessions_id_unique` ON `chat_sessions` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `chat_sessions_by_channel` ON `chat_sessions` (`agent_id`,`channel_key`) WHERE "chat_sessions"."channel_key" IS NOT NULL;--> statement-breakpoint
CREATE INDEX `chat_sessions_by_agent` ON `chat_sessions` (`agent_id`,`last_activity`);--> statement-breakpoint
CREATE INDEX `chat_sessions_by_user` ON `chat_sessions` (`user_id`,`sequence`);--> statement-breakpoint
CREATE TABLE `chat_tool_calls` (
	`turn_id` text NOT NULL,
	`start` integer NOT NULL,
	`name` text NOT NULL,
	`arguments` text NOT NULL,
	`result` text NOT NULL,
	`success` integer NOT NULL,
	`duration_ms` integer NOT NULL,
	PRIMARY KEY(`turn_id`, `start`),
	FOREIGN KEY (`turn_id`) REFERENCES `chat_turns`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE TABLE `chat_turn_pieces` (
	`turn_id` text NOT NULL,
	`start` integer NOT NULL,
	`text` text NOT NULL,
	PRIMARY KEY(`turn_id`, `start`),
	FOREIGN KEY (`turn_id`) REFERENCES `chat_turns`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE TABLE `chat_turns` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`question_id` text NOT NULL,
	`reply_id` text,
	`session_key` text NOT NULL,
	`state` text NOT NULL,
	`error_kind` text,
	`error` text,
	`error_code` text,
	`request_key` text,
	`request_hash` text,
	`model` text,
	`input_tokens` integer,
	`output_tokens` integer,
	`generation_ids` text,
	`ended_by` text,
	`created_at` integer NOT NULL,
	`finished_at` integer,
	`restarts` integer DEFAULT 0 NOT NULL,
	`start_position` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`question_id`) REFERENCES `messages`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "chat_turns_state" CHECK("chat_turns"."state" IN ('running', 'done', 'stopped', 'failed'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `chat_turns_id_unique` ON `chat_turns` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `chat_turns_questionId_unique` ON `chat_turns` (`question_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `chat_turns_replyId_unique` ON `chat_turns` (`reply_id`);--> statement-breakpoint
CREATE INDEX `chat_turns_by_agent` ON `chat_turns` (`agent_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `chat_turns_by_conversation` ON `chat_turns` (`agent_id`,`session_key`,`sequence`);--> statement-breakpoint
CREATE INDEX `chat_turns_by_user` ON `chat_turns` (`user_id`,`sequence`);--> statement-breakpoint
CREATE UNIQUE INDEX `chat_turns_by_request` ON `chat_turns` (`user_id`,`request_key`);--> statement-breakpoint
CREATE INDEX `chat_turns_by_state` ON `chat_turns` (`state`,`user_id`);--> statement-breakpoint
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
CREATE TABLE `messages` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`sender` text NOT NULL,
	`content` text NOT NULL,
	`topic` text,
	`session_id` text,
	`status` text NOT NULL,
	`replaced_by` text,
	`created_at` integer NOT NULL,
	`platform` text DEFAULT 'web' NOT NULL,
	`author` text,
	`external_id` text,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`session_id`) REFERENCES `chat_sessions`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "messages_sender" CHECK("messages"."sender" IN ('user', 'agent')),
	CONSTRAINT "messages_status" CHECK("messages"."status" IN ('sent', 'stopped', 'failed'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `messages_id_unique` ON `messages` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `messages_by_external_id` ON `messages` (`agent_id`,`external_id`) WHERE "messages"."external_id" IS NOT NULL;--> statement-breakpoint
CREATE INDEX `messages_by_replacement` ON `messages` (`replaced_by`);--> statement-breakpoint
CREATE INDEX `messages_by_agent` ON `messages` (`agent_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `messages_by_user` ON `messages` (`user_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `messages_by_session` ON `messages` (`session_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `messages_by_time` ON `messages` (`created_at`);--> statement-breakpoint
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
	`message_id` text,
	`thread_id` text,
	`references` text DEFAULT '[]' NOT NULL,
	`automatic` text,
	`files` text DEFAULT '[]' NOT NULL,
	`answer_status` text,
	`answer_error` text,
	`answered_at` integer,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "inbox_messages_status" CHECK("inbox_messages"."status" IN ('queued', 'delivered', 'failed'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `inbox_messages_id_unique` ON `inbox_messages` (`id`);--> statement-breakpoint
CREATE INDEX `inbox_messages_by_agent` ON `inbox_messages` (`agent_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `inbox_messages_by_time` ON `inbox_messages` (`received_at`);--> statement-breakpoint
CREATE INDEX `inbox_messages_by_sender` ON `inbox_messages` (`sender`,`received_at`);--> statement-breakpoint
CREATE TABLE `agent_mcp_servers` (
	`id` text PRIMARY KEY NOT NULL,
	`agent_id` text NOT NULL,
	`name` text NOT NULL,
	`url` text NOT NULL,
	`command` text,
	`args` text DEFAULT '[]' NOT NULL,
	`sealed_headers` text,
	`allowed_tools` text,
	`trusted_tools` text,
	`enabled` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `agent_mcp_servers_by_name` ON `agent_mcp_servers` (`agent_id`,`name`);--> statement-breakpoint
CREATE TABLE `agent_memory` (
	`sequence` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`agent_id` text NOT NULL,
	`key` text NOT NULL,
	`value` text NOT NULL,
	`source` text NOT NULL,
	`session` text,
	`page` text,
	`created_at` integer,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "agent_memory_source" CHECK("agent_memory"."source" IN ('user', 'agent'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `agent_memory_by_key` ON `agent_memory` (`agent_id`,`key`);--> statement-breakpoint
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
CREATE TABLE `webhook_channels` (
	`agent_id` text PRIMARY KEY NOT NULL,
	`sealed_channel` text NOT NULL,
	`destination` text NOT NULL,
	`since` integer NOT NULL,
	`last_received_at` integer,
	`last_sent_at` integer,
	`last_error` text,
	`last_error_at` integer,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE TABLE `webhook_deliveries` (
	`agent_id` text NOT NULL,
	`delivery_id` text NOT NULL,
	`id` text NOT NULL,
	`conversation` text NOT NULL,
	`text` text NOT NULL,
	`status` text NOT NULL,
	`reply` text,
	`error` text,
	`answer_status` text,
	`answer_error` text,
	`received_at` integer NOT NULL,
	`answered_at` integer,
	PRIMARY KEY(`agent_id`, `delivery_id`),
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "webhook_deliveries_status" CHECK("webhook_deliveries"."status" IN ('queued', 'answered', 'failed'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `webhook_deliveries_id_unique` ON `webhook_deliveries` (`id`);--> statement-breakpoint
CREATE INDEX `webhook_deliveries_by_agent` ON `webhook_deliveries` (`agent_id`,`received_at`);--> statement-breakpoint
CREATE INDEX `webhook_deliveries_by_time` ON `webhook_deliveries` (`received_at`);--> statement-breakpoint
CREATE INDEX `webhook_deliveries_waiting` ON `webhook_deliveries` (`agent_id`) WHERE status = 'queued';--> statement-breakpoint
CREATE TABLE `readiness` (
	`id` integer PRIMARY KEY NOT NULL,
	`checked_at` integer NOT NULL,
	CONSTRAINT "readiness_one" CHECK("readiness"."id" = 1)
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
CREATE TABLE `card_customers` (
	`user_id` text PRIMARY KEY NOT NULL,
	`customer_id` text NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `card_customers_customerId_unique` ON `card_customers` (`customer_id`);--> statement-breakpoint
CREATE TABLE `card_events` (
	`id` text PRIMARY KEY NOT NULL,
	`type` text NOT NULL,
	`outcome` text NOT NULL,
	`received_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `card_events_by_time` ON `card_events` (`received_at`);--> statement-breakpoint
CREATE TABLE `card_subscriptions` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`purpose` text NOT NULL,
	`plan` text,
	`state` text NOT NULL,
	`is_ending` integer NOT NULL,
	`paid_until` integer,
	`past_due_since` integer,
	`grace_ends_at` integer,
	`replaced_by` text,
	`told_at` integer NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "card_subscriptions_purpose" CHECK("card_subscriptions"."purpose" IN ('plan', 'storage')),
	CONSTRAINT "card_subscriptions_state" CHECK("card_subscriptions"."state" IN ('active', 'past_due', 'ended')),
	CONSTRAINT "card_subscriptions_plan" CHECK("card_subscriptions"."plan" IN ('solo', 'collective', 'label', 'network'))
) STRICT;
--> statement-breakpoint
CREATE INDEX `card_subscriptions_by_user` ON `card_subscriptions` (`user_id`);--> statement-breakpoint
CREATE INDEX `card_subscriptions_by_grace` ON `card_subscriptions` (`grace_ends_at`);--> statement-breakpoint
CREATE TABLE `ledger_accounts` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`kind` text NOT NULL,
	`owner_id` text NOT NULL,
	`currency` text NOT NULL,
	`balance` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	CONSTRAINT "ledger_accounts_kind" CHECK("ledger_accounts"."kind" IN ('credits', 'escrow', 'wallets', 'payees', 'cards', 'chain', 'sales', 'grants')),
	CONSTRAINT "ledger_accounts_currency" CHECK("ledger_accounts"."currency" IN ('USD', 'GBP', 'USDC', 'pathUSD')),
	CONSTRAINT "ledger_accounts_hold_what_they_owe" CHECK("ledger_accounts"."balance" >= 0 OR "ledger_accounts"."kind" NOT IN ('credits', 'escrow'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `ledger_accounts_by_name` ON `ledger_accounts` (`kind`,`owner_id`,`currency`);--> statement-breakpoint
CREATE INDEX `ledger_accounts_by_owner` ON `ledger_accounts` (`owner_id`);--> statement-breakpoint
CREATE TABLE `ledger_entries` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`cause` text NOT NULL,
	`memo` text NOT NULL,
	`created_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `ledger_entries_cause_unique` ON `ledger_entries` (`cause`);--> statement-breakpoint
CREATE TABLE `ledger_lines` (
	`entry_id` integer NOT NULL,
	`account_id` integer NOT NULL,
	`amount` integer NOT NULL,
	`balance_after` integer NOT NULL,
	PRIMARY KEY(`entry_id`, `account_id`),
	FOREIGN KEY (`entry_id`) REFERENCES `ledger_entries`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`account_id`) REFERENCES `ledger_accounts`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE INDEX `ledger_lines_by_account` ON `ledger_lines` (`account_id`,`entry_id`);--> statement-breakpoint
CREATE TABLE `gateway_payments` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text,
	`plugin` text NOT NULL,
	`what` text,
	`request_hash` text,
	`method` text NOT NULL,
	`amount_micros` integer NOT NULL,
	`currency` text NOT NULL,
	`payer` text,
	`reference` text,
	`authorization` text,
	`raw_transaction` text,
	`since_block` integer,
	`checks` integer DEFAULT 0 NOT NULL,
	`check_at` integer,
	`state` text NOT NULL,
	`changed_at` integer NOT NULL,
	CONSTRAINT "gateway_payments_method" CHECK("gateway_payments"."method" IN ('credits', 'mpp', 'x402')),
	CONSTRAINT "gateway_payments_state" CHECK("gateway_payments"."state" IN ('settling', 'settled', 'working', 'served', 'refunded')),
	CONSTRAINT "gateway_payments_currency" CHECK("gateway_payments"."currency" IN ('USD', 'GBP', 'USDC', 'pathUSD'))
) STRICT;
--> statement-breakpoint
CREATE INDEX `gateway_payments_by_user` ON `gateway_payments` (`user_id`);--> statement-breakpoint
CREATE INDEX `gateway_payments_by_state` ON `gateway_payments` (`state`,`changed_at`);--> statement-breakpoint
CREATE TABLE `receipts` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text,
	`cause` text NOT NULL,
	`what` text NOT NULL,
	`method` text NOT NULL,
	`amount_micros` integer NOT NULL,
	`currency` text NOT NULL,
	`reference` text,
	`payer` text,
	`refunded_micros` integer DEFAULT 0 NOT NULL,
	`refund_reason` text,
	`created_at` integer NOT NULL,
	CONSTRAINT "receipts_method" CHECK("receipts"."method" IN ('card', 'credits', 'mpp', 'x402')),
	CONSTRAINT "receipts_currency" CHECK("receipts"."currency" IN ('USD', 'GBP', 'USDC', 'pathUSD')),
	CONSTRAINT "receipts_refund" CHECK("receipts"."refunded_micros" BETWEEN 0 AND "receipts"."amount_micros")
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `receipts_cause_unique` ON `receipts` (`cause`);--> statement-breakpoint
CREATE INDEX `receipts_by_user` ON `receipts` (`user_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `booking_rules` (
	`booking_id` text PRIMARY KEY NOT NULL,
	`rules` text NOT NULL,
	FOREIGN KEY (`booking_id`) REFERENCES `bookings`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE TABLE `escrows` (
	`booking_id` text PRIMARY KEY NOT NULL,
	`payer_id` text,
	`amount_micro_usd` integer NOT NULL,
	`status` text NOT NULL,
	`created_at` integer NOT NULL,
	`ended_at` integer,
	FOREIGN KEY (`booking_id`) REFERENCES `bookings`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`payer_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE set null,
	CONSTRAINT "escrows_status" CHECK("escrows"."status" IN ('held', 'released', 'refunded')),
	CONSTRAINT "escrows_positive" CHECK("escrows"."amount_micro_usd" > 0)
) STRICT;
--> statement-breakpoint
CREATE INDEX `escrows_by_payer` ON `escrows` (`payer_id`);--> statement-breakpoint
CREATE TABLE `tickets` (
	`id` text PRIMARY KEY NOT NULL,
	`event_id` integer,
	`event_name` text NOT NULL,
	`buyer_id` text,
	`organiser_id` text,
	`email` text,
	`price_micro_usd` integer NOT NULL,
	`status` text NOT NULL,
	`created_at` integer NOT NULL,
	`refunded_at` integer,
	FOREIGN KEY (`event_id`) REFERENCES `underground_events`(`id`) ON UPDATE no action ON DELETE set null,
	FOREIGN KEY (`buyer_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE set null,
	FOREIGN KEY (`organiser_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE set null,
	CONSTRAINT "tickets_status" CHECK("tickets"."status" IN ('valid', 'refunded'))
) STRICT;
--> statement-breakpoint
CREATE INDEX `tickets_by_event` ON `tickets` (`event_id`);--> statement-breakpoint
CREATE INDEX `tickets_by_buyer` ON `tickets` (`buyer_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `tickets_by_organiser` ON `tickets` (`organiser_id`);--> statement-breakpoint
CREATE TABLE `calendar_entries` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`title` text NOT NULL,
	`starts_at` integer NOT NULL,
	`channels` text NOT NULL,
	`cancelled_at` integer,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `calendar_entries_by_user` ON `calendar_entries` (`user_id`,`starts_at`);--> statement-breakpoint
CREATE TABLE `installed_skills` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`skill_id` text NOT NULL,
	`enabled` integer NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `installed_skills_by_user` ON `installed_skills` (`user_id`,`skill_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `installed_skills_by_agent` ON `installed_skills` (`agent_id`,`skill_id`);--> statement-breakpoint
CREATE TABLE `own_skills` (
	`user_id` text NOT NULL,
	`name` text NOT NULL,
	`content` text NOT NULL,
	`version` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`user_id`, `name`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE TABLE `skill_downloads` (
	`skill_id` text NOT NULL,
	`user_id` text NOT NULL,
	PRIMARY KEY(`skill_id`, `user_id`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `skill_downloads_by_user` ON `skill_downloads` (`user_id`);--> statement-breakpoint
CREATE TABLE `skill_figures` (
	`skill_id` text PRIMARY KEY NOT NULL,
	`downloads` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TABLE `house_wallets` (
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`wallet_id` text NOT NULL,
	PRIMARY KEY(`user_id`, `agent_id`),
	FOREIGN KEY (`wallet_id`) REFERENCES `managed_wallets`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `house_wallets_by_wallet` ON `house_wallets` (`wallet_id`);--> statement-breakpoint
CREATE TABLE `royalty_parts` (
	`split_id` integer NOT NULL,
	`position` integer NOT NULL,
	`address` text NOT NULL,
	`name` text,
	`share_millionths` integer NOT NULL,
	`amount_micro_usd` integer NOT NULL,
	`is_skipped` integer NOT NULL,
	`payment_id` text,
	`failure` text,
	PRIMARY KEY(`split_id`, `position`),
	FOREIGN KEY (`split_id`) REFERENCES `royalty_splits`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`payment_id`) REFERENCES `wallet_payments`(`id`) ON UPDATE no action ON DELETE set null,
	CONSTRAINT "royalty_parts_not_negative" CHECK("royalty_parts"."amount_micro_usd" >= 0)
) STRICT;
--> statement-breakpoint
CREATE INDEX `royalty_parts_by_payment` ON `royalty_parts` (`payment_id`);--> statement-breakpoint
CREATE TABLE `royalty_splits` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`owner_id` text,
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`from_address` text NOT NULL,
	`wallet_id` text,
	`name` text NOT NULL,
	`trigger` text DEFAULT 'manual' NOT NULL,
	`total_micro_usd` integer NOT NULL,
	`status` text NOT NULL,
	`reason` text,
	`is_held` integer DEFAULT false NOT NULL,
	`check_at` integer,
	`created_at` integer NOT NULL,
	`completed_at` integer,
	FOREIGN KEY (`owner_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`wallet_id`) REFERENCES `managed_wallets`(`id`) ON UPDATE no action ON DELETE set null,
	CONSTRAINT "royalty_splits_status" CHECK("royalty_splits"."status" IN ('queued', 'processing', 'settled', 'partially_settled', 'failed')),
	CONSTRAINT "royalty_splits_positive" CHECK("royalty_splits"."total_micro_usd" > 0)
) STRICT;
--> statement-breakpoint
CREATE INDEX `royalty_splits_by_owner` ON `royalty_splits` (`owner_id`,`id`);--> statement-breakpoint
CREATE INDEX `royalty_splits_by_wallet` ON `royalty_splits` (`wallet_id`);--> statement-breakpoint
CREATE INDEX `royalty_splits_by_check` ON `royalty_splits` (`check_at`);--> statement-breakpoint
CREATE TABLE `split_rules` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`address` text NOT NULL,
	`name` text NOT NULL,
	`role` text NOT NULL,
	`share_millionths` integer NOT NULL,
	`minimum_micro_usd` integer NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `split_rules_by_user` ON `split_rules` (`user_id`);--> statement-breakpoint
CREATE TABLE `amplifications` (
	`id` text PRIMARY KEY NOT NULL,
	`message_id` text NOT NULL,
	`requesting_agent_id` text NOT NULL,
	`partner_agent_id` text NOT NULL,
	`reward_micro_usd` integer NOT NULL,
	`status` text NOT NULL,
	`post_url` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`requesting_agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`partner_agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "amplifications_status" CHECK("amplifications"."status" IN ('requested', 'accepted', 'declined', 'completed')),
	CONSTRAINT "amplifications_reward" CHECK("amplifications"."reward_micro_usd" >= 0)
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `amplifications_by_message` ON `amplifications` (`requesting_agent_id`,`message_id`);--> statement-breakpoint
CREATE INDEX `amplifications_by_partner` ON `amplifications` (`partner_agent_id`);--> statement-breakpoint
CREATE TABLE `bookings` (
	`id` text PRIMARY KEY NOT NULL,
	`message_id` text NOT NULL,
	`payer_id` text,
	`payee_id` text,
	`offering_agent_id` text,
	`talent_agent_id` text,
	`event_id` integer,
	`talent_name` text NOT NULL,
	`venue` text NOT NULL,
	`gig_at` integer,
	`guarantee_micro_usd` integer NOT NULL,
	`backend_micro_usd` integer NOT NULL,
	`deposit_micro_usd` integer NOT NULL,
	`status` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`payer_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE set null,
	FOREIGN KEY (`payee_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE set null,
	FOREIGN KEY (`offering_agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE set null,
	FOREIGN KEY (`talent_agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE set null,
	FOREIGN KEY (`event_id`) REFERENCES `underground_events`(`id`) ON UPDATE no action ON DELETE set null,
	CONSTRAINT "bookings_status" CHECK("bookings"."status" IN ('offered', 'confirmed', 'declined')),
	CONSTRAINT "bookings_amounts" CHECK(min("bookings"."guarantee_micro_usd", "bookings"."backend_micro_usd", "bookings"."deposit_micro_usd") >= 0)
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `bookings_by_message` ON `bookings` (`offering_agent_id`,`message_id`);--> statement-breakpoint
CREATE INDEX `bookings_by_payer` ON `bookings` (`payer_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `bookings_by_payee` ON `bookings` (`payee_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `bookings_by_talent` ON `bookings` (`talent_agent_id`);--> statement-breakpoint
CREATE INDEX `bookings_by_event` ON `bookings` (`event_id`);--> statement-breakpoint
CREATE TABLE `bus_messages` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`owner_id` text,
	`from_agent_id` text NOT NULL,
	`to_agent_id` text NOT NULL,
	`message_id` text NOT NULL,
	`action` text NOT NULL,
	`version` text NOT NULL,
	`body` text NOT NULL,
	`content_hash` text NOT NULL,
	`status` text NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`last_error` text,
	`created_at` integer NOT NULL,
	`delivered_at` integer,
	FOREIGN KEY (`owner_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`from_agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`to_agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "bus_messages_status" CHECK("bus_messages"."status" IN ('pending', 'delivered', 'dead'))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `bus_messages_by_sender` ON `bus_messages` (`from_agent_id`,`message_id`);--> statement-breakpoint
CREATE INDEX `bus_messages_by_owner` ON `bus_messages` (`owner_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `bus_messages_by_recipient` ON `bus_messages` (`to_agent_id`);--> statement-breakpoint
CREATE INDEX `bus_messages_by_status` ON `bus_messages` (`status`,`id`);--> statement-breakpoint
CREATE INDEX `bus_messages_by_time` ON `bus_messages` (`created_at`);--> statement-breakpoint
CREATE TABLE `underground_events` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`owner_id` text,
	`agent_id` text NOT NULL,
	`local_agent_id` text,
	`name` text NOT NULL,
	`description` text NOT NULL,
	`venue` text NOT NULL,
	`event_date` integer NOT NULL,
	`ticket_price_micro_usd` integer NOT NULL,
	`price_places` integer NOT NULL,
	`total_tickets` integer NOT NULL,
	`tickets_sold` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`owner_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`local_agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "underground_events_price" CHECK("underground_events"."ticket_price_micro_usd" >= 0),
	CONSTRAINT "underground_events_tickets" CHECK("underground_events"."tickets_sold" BETWEEN 0 AND "underground_events"."total_tickets")
) STRICT;
--> statement-breakpoint
CREATE INDEX `underground_events_by_date` ON `underground_events` (`event_date`,`id`);--> statement-breakpoint
CREATE INDEX `underground_events_by_owner` ON `underground_events` (`owner_id`,`event_date`,`id`);--> statement-breakpoint
CREATE INDEX `underground_events_by_agent` ON `underground_events` (`local_agent_id`);--> statement-breakpoint
CREATE TABLE `managed_wallets` (
	`id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`user_id` text,
	`agent_id` text,
	`address` text NOT NULL,
	`sealed_key` text NOT NULL,
	`per_payment_micro_usd` integer,
	`per_day_micro_usd` integer,
	`per_month_micro_usd` integer,
	`approval_above_micro_usd` integer,
	`recipients` text,
	`frozen_at` integer,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE set null,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE set null,
	CONSTRAINT "managed_wallets_kind" CHECK("managed_wallets"."kind" IN ('user', 'agent')),
	CONSTRAINT "managed_wallets_lower_case" CHECK("managed_wallets"."address" = lower("managed_wallets"."address"))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `managed_wallets_address_unique` ON `managed_wallets` (`address`);--> statement-breakpoint
CREATE UNIQUE INDEX `managed_wallets_of_agent` ON `managed_wallets` (`agent_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `managed_wallets_of_user` ON `managed_wallets` (`user_id`) WHERE kind = 'user';--> statement-breakpoint
CREATE INDEX `managed_wallets_by_user` ON `managed_wallets` (`user_id`);--> statement-breakpoint
CREATE TABLE `wallet_payments` (
	`id` text PRIMARY KEY NOT NULL,
	`wallet_id` text,
	`user_id` text,
	`agent_id` text,
	`kind` text NOT NULL,
	`purpose` text NOT NULL,
	`reference` text NOT NULL,
	`request_hash` text,
	`currency` text NOT NULL,
	`chain_id` integer,
	`recipient` text NOT NULL,
	`amount_micro_usd` integer NOT NULL,
	`status` text NOT NULL,
	`reason` text,
	`keeps_trying` integer DEFAULT false NOT NULL,
	`approval_expires_at` integer,
	`decided_by` text,
	`from_address` text,
	`nonce` integer,
	`raw_transaction` text,
	`transaction_hash` text,
	`block_number` integer,
	`block_hash` text,
	`undone_at` integer,
	`detail` text DEFAULT '{}' NOT NULL,
	`check_at` integer,
	`checks` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`sent_at` integer,
	`settled_at` integer,
	`final_at` integer,
	FOREIGN KEY (`wallet_id`) REFERENCES `managed_wallets`(`id`) ON UPDATE no action ON DELETE set null,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE set null,
	CONSTRAINT "wallet_payments_kind" CHECK("wallet_payments"."kind" IN ('transfer', 'upstream', 'authorization')),
	CONSTRAINT "wallet_payments_status" CHECK("wallet_payments"."status" IN ('awaiting_approval', 'created', 'sent', 'succeeded', 'failed', 'unknown', 'denied')),
	CONSTRAINT "wallet_payments_positive" CHECK("wallet_payments"."amount_micro_usd" > 0)
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `wallet_payments_reference_unique` ON `wallet_payments` (`reference`);--> statement-breakpoint
CREATE UNIQUE INDEX `wallet_payments_nonce` ON `wallet_payments` (`chain_id`,`from_address`,`nonce`);--> statement-breakpoint
CREATE INDEX `wallet_payments_by_wallet` ON `wallet_payments` (`wallet_id`,`created_at`,`status`,`amount_micro_usd`);--> statement-breakpoint
CREATE INDEX `wallet_payments_by_user` ON `wallet_payments` (`user_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `wallet_payments_by_agent` ON `wallet_payments` (`agent_id`);--> statement-breakpoint
CREATE INDEX `wallet_payments_by_check` ON `wallet_payments` (`check_at`);--> statement-breakpoint
CREATE TABLE `colony_members` (
	`agent_id` text PRIMARY KEY NOT NULL,
	`wallet_address` text NOT NULL,
	`designation` text,
	`joined_at` integer NOT NULL,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `colony_members_by_time` ON `colony_members` (`joined_at`);--> statement-breakpoint
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
CREATE INDEX `git_credentials_by_agent` ON `git_credentials` (`agent_id`);--> statement-breakpoint
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
CREATE TABLE `jobs` (
	`id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`key` text,
	`share` text DEFAULT '' NOT NULL,
	`payload` text NOT NULL,
	`status` text NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`run_at` integer NOT NULL,
	`lease_token` text,
	`lease_until` integer,
	`last_error` text,
	`created_at` integer NOT NULL,
	`finished_at` integer,
	CONSTRAINT "jobs_status" CHECK("jobs"."status" IN ('queued', 'running', 'done', 'dead'))
) STRICT;
--> statement-breakpoint
CREATE INDEX `jobs_due` ON `jobs` (`status`,`run_at`);--> statement-breakpoint
CREATE UNIQUE INDEX `jobs_unfinished_key` ON `jobs` (`key`,`status`) WHERE "jobs"."key" is not null;--> statement-breakpoint
CREATE TABLE `idempotency_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`request_hash` text NOT NULL,
	`status` integer,
	`answer` text,
	`reference` text,
	`expires_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `idempotency_keys_by_expiry` ON `idempotency_keys` (`expires_at`);