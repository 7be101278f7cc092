CREATE TABLE `gateway_payments` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text,
	`plugin` text NOT NULL,
	`method` text NOT NULL,
	`amount_micros` integer NOT NULL,
	`currency` text NOT NULL,
	`payer` text,
	`reference` text,
	`state` text NOT NULL,
	`changed_at` integer NOT NULL,
	CONSTRAINT "gateway_payments_method" CHECK("gateway_payments"."method" IN ('credits', 'mpp', 'x402')),
	CONSTRAINT "gateway_payments_state" CHECK("gateway_payments"."state" IN ('settling', 'settled', 'working', 'served', 'refunded')),
	CONSTRAINT "gateway_payments_currency" CHECK("gateway_payments"."currency" IN ('USD', 'GBP', 'USDC', 'pathUSD'))
) STRICT;
--> statement-breakpoint
CREATE INDEX `gateway_payments_by_user` ON `gateway_payments` (`user_id`);--> statement-breakpoint
CREATE INDEX `gateway_payments_by_state` ON `gateway_payments` (`state`,`changed_at`);