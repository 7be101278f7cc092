ALTER TABLE `audit_log` ADD `request_id` text;--> statement-breakpoint
ALTER TABLE `deployment_history` ADD `request_id` text;