# Start a program as two workers, one per host:
#
#     bash start.sh PROGRAM [ARGUMENT ...]
workers='["node1:2222", "node2:2222"]'
for index in 0 1; do
    task="{\"type\": \"worker\", \"index\": $index}"
    ssh "node$((index + 1))" "cd $PWD && TF_CONFIG='{\"cluster\": {\"worker\": $workers}, \"task\": $task}' \
        $(command -v python) $*" < /dev/null &
done
wait
