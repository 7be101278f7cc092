CREATE TABLE `mcp_authorization_attempts` (
	`state_hash` text PRIMARY KEY NOT NULL,
	`server_id` text NOT NULL,
	`user_id` text NOT NULL,
	`session_hash` text NOT NULL,
	`issuer` text NOT NULL,
	`resource` text NOT NULL,
	`scope` text,
	`sealed` text NOT NULL,
	`expires_at` integer NOT NULL,
	FOREIGN KEY (`server_id`) REFERENCES `agent_mcp_servers`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) STRICT;
--> statement-breakpoint
CREATE INDEX `mcp_authorization_attempts_by_server` ON `mcp_authorization_attempts` (`server_id`);--> statement-breakpoint
CREATE INDEX `mcp_authorization_attempts_by_user` ON `mcp_authorization_attempts` (`user_id`);--> statement-breakpoint
CREATE INDEX `mcp_authorization_attempts_by_expiry` ON `mcp_authorization_attempts` (`expires_at`);--> statement-breakpoint
CREATE TABLE `mcp_authorizations` (
	`server_id` text PRIMARY KEY NOT NULL,
	`agent_id` text NOT NULL,
	`status` text NOT NULL,
	`issuer` text,
	`resource` text,
	`scope` text,
	`missing_scope` text,
	`sealed` text,
	`expires_at` integer,
	`renewing_until` integer,
	`connected_at` integer,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`server_id`) REFERENCES `agent_mcp_servers`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "mcp_authorizations_status" CHECK("mcp_authorizations"."status" IN ('disconnected', 'connected', 'expired'))
) STRICT;
--> statement-breakpoint
CREATE INDEX `mcp_authorizations_by_agent` ON `mcp_authorizations` (`agent_id`);--> statement-breakpoint
ALTER TABLE `agent_mcp_servers` ADD `tool_pins` text DEFAULT '{}' NOT NULL;