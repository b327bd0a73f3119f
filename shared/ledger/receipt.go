package ledger

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"
)

const receiptVersion = 1

func receiptKey(of ID) key { return key{"RECEIPT#" + hex.EncodeToString(of[:]), "RECEIPT"} }

// PutReceipt keeps the receipt of a dry run until ends. Of is the dry run's caller, tool and arguments; a receipt that
// is there already is replaced. It costs one small write.
func (l *Ledger) PutReceipt(ctx context.Context, of ID, receipt string, ends time.Time) error {
	k := receiptKey(of)
	record := newItem(k, receiptVersion, ceilUnix(ends)).with("receipt", text(receipt))
	record.time("ends", ends)
	if _, _, err := l.store.write(ctx, write{key: k, item: record}); err != nil {
		return fmt.Errorf("keeping the receipt of %s: %w", of, err)
	}
	return nil
}

// Receipt returns the receipt of the last dry run and when it ends; empty when there is none or it has ended. It costs
// one consistent read.
func (l *Ledger) Receipt(ctx context.Context, of ID) (receipt string, ends time.Time, err error) {
	stored, err := l.store.get(ctx, receiptKey(of))
	if err != nil || stored == nil {
		return "", time.Time{}, wrapReceipt(of, err)
	}
	d := decoder{item: stored}
	d.checkVersion(receiptVersion)
	receipt, ends = d.text("receipt"), d.time("ends")
	if d.err != nil {
		return "", time.Time{}, wrapReceipt(of, d.err)
	}
	if !l.now().Before(ends) {
		return "", time.Time{}, nil
	}
	return receipt, ends, nil
}

func wrapReceipt(of ID, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("reading the receipt of %s: %w", of, err)
}
