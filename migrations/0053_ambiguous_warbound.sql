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
ALTER TABLE `inbox_messages` ADD `message_id` text;--> statement-breakpoint
ALTER TABLE `inbox_messages` ADD `thread_id` text;--> statement-breakpoint
ALTER TABLE `inbox_messages` ADD `references` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `inbox_messages` ADD `automatic` text;--> statement-breakpoint
ALTER TABLE `inbox_messages` ADD `files` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `inbox_messages` ADD `answer_status` text;--> statement-breakpoint
ALTER TABLE `inbox_messages` ADD `answer_error` text;--> statement-breakpoint
ALTER TABLE `inbox_messages` ADD `answered_at` integer;