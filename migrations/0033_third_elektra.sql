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
CREATE INDEX `pauses_by_owner` ON `pauses` (`owner_id`);