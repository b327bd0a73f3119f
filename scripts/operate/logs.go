package operate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"patchbay/scripts/locallog"
)

// maxLines bounds what one search of a log group returns.
const maxLines = 10_000

// logQuery is a search of a log group.
type logQuery struct {
	group string
	// stream is the only one that is searched; empty means all.
	stream   string
	from, to time.Time
	// text is in every line that is found; empty means every line.
	text string
}

// logSource finds log lines.
type logSource interface {
	// find returns lines in order of time. The error wraps errNoLog for a group that does not exist.
	find(ctx context.Context, query logQuery) ([]locallog.Line, error)
}

var errNoLog = errors.New("no such log group")

// localLogs are the files of a local stack.
type localLogs struct{ dir string }

func (l localLogs) find(_ context.Context, query logQuery) ([]locallog.Line, error) {
	var found []locallog.Line
	err := locallog.Read(l.dir, func(line locallog.Line) {
		matches := line.Group == query.group && (query.stream == "" || line.Stream == query.stream) &&
			!line.Time.Before(query.from) && !line.Time.After(query.to) && strings.Contains(line.Message, query.text)
		if matches && len(found) < maxLines {
			found = append(found, line)
		}
	})
	return found, err
}

// cloudWatch is CloudWatch Logs.
type cloudWatch struct{ client *cloudwatchlogs.Client }

func (c *cloudWatch) find(ctx context.Context, query logQuery) ([]locallog.Line, error) {
	input := &cloudwatchlogs.FilterLogEventsInput{
		LogGroupName: aws.String(query.group),
		StartTime:    aws.Int64(query.from.UnixMilli()),
		EndTime:      aws.Int64(query.to.UnixMilli()),
	}
	if query.stream != "" {
		input.LogStreamNames = []string{query.stream}
	}
	if query.text != "" {
		input.FilterPattern = aws.String(`"` + query.text + `"`)
	}
	var found []locallog.Line
	pages := cloudwatchlogs.NewFilterLogEventsPaginator(c.client, input)
	for pages.HasMorePages() && len(found) < maxLines {
		page, err := pages.NextPage(ctx)
		var missing *types.ResourceNotFoundException
		if errors.As(err, &missing) {
			return nil, fmt.Errorf("searching %s: %w", query.group, errNoLog)
		}
		if err != nil {
			return nil, fmt.Errorf("searching %s: %w", query.group, err)
		}
		for _, event := range page.Events {
			found = append(found, locallog.Line{
				Time:    time.UnixMilli(aws.ToInt64(event.Timestamp)).UTC(),
				Group:   query.group,
				Stream:  aws.ToString(event.LogStreamName),
				Message: strings.TrimRight(aws.ToString(event.Message), "\r\n"),
			})
		}
	}
	return found, nil
}
