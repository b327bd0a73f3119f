# Runs Keycloak for a parent: sh run.sh <issuer> <kc.sh> <arguments of kc.sh…>. Prints {"url":"<issuer>"} at once, and
# ends on SIGTERM or when standard input ends, which is when its parent has gone. It must lead a process group of its
# own, which it ends as a whole: kc.sh starts Java as a child and hands no signal on. Nothing of it is kept, so it may
# be killed.
issuer=$1
shift
end() { kill -KILL -$$; }
trap end TERM INT
printf '{"url":"%s"}\n' "$issuer"
exec 3<&0
"$@" </dev/null 2>&1 &
server=$!
{ cat <&3 >/dev/null; end; } &
wait "$server"
end
