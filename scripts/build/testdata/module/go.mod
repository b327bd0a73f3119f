module example.com/functions

go 1.26
