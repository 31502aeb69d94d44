-- Charges AMOUNT to one limit, beyond it too; by more than 2^53 it answers 0, and charges nothing.
if amount - capacity > LATEST then return 0 end
