ALTER TABLE `gateway_payments` ADD `what` text;--> statement-breakpoint
ALTER TABLE `gateway_payments` ADD `authorization` text;--> statement-breakpoint
ALTER TABLE `gateway_payments` ADD `raw_transaction` text;--> statement-breakpoint
ALTER TABLE `gateway_payments` ADD `since_block` integer;--> statement-breakpoint
ALTER TABLE `gateway_payments` ADD `checks` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `gateway_payments` ADD `check_at` integer;