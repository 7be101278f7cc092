PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE `__new_notice_channels` (
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
	CONSTRAINT "notice_channels_kind" CHECK("__new_notice_channels"."kind" IN ('telegram', 'discord', 'ntfy', 'webhook'))
) STRICT;
--> statement-breakpoint
INSERT INTO `__new_notice_channels`("id", "user_id", "kind", "name", "destination", "sealed_recipient", "kinds", "created_at", "last_sent_at", "last_error") SELECT "id", "user_id", "kind", "name", "destination", "sealed_recipient", "kinds", "created_at", "last_sent_at", "last_error" FROM `notice_channels`;--> statement-breakpoint
DROP TABLE `notice_channels`;--> statement-breakpoint
ALTER TABLE `__new_notice_channels` RENAME TO `notice_channels`;--> statement-breakpoint
PRAGMA foreign_keys=ON;--> statement-breakpoint
CREATE INDEX `notice_channels_by_user` ON `notice_channels` (`user_id`);