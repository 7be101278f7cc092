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
CREATE INDEX `webhook_deliveries_by_time` ON `webhook_deliveries` (`received_at`);