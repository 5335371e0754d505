module capgnn

go 1.26
