#!/bin/sh
# Puts DynamoDB Local into the directory $1, where Java, Maven and its package can be had; else leaves the reason
# there, which the tests give for what they skip.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
target=$1
rm -rf "$target"
mkdir -p "$target"
target=$(cd "$target" && pwd)  # Maven takes a relative one from where its file is

unavailable() {
    echo "$1" >"$target/unavailable"
    echo "the tests do not run on DynamoDB Local: $1"
    exit 0
}

for program in java javac mvn; do
    command -v "$program" >/dev/null || unavailable "there is no $program"
done
echo "installing DynamoDB Local for the tests"
mvn --batch-mode --quiet --file "$here/pom.xml" dependency:copy-dependencies \
    -DincludeScope=runtime -DexcludeTypes=dll -DoutputDirectory="$target" >"$target/log" 2>&1 ||
    unavailable "Maven could not get its package"
javac -cp "$target/*" -d "$target" "$here/OnLoopback.java" >"$target/log" 2>&1 ||
    unavailable "its launcher does not compile with $(javac -version 2>&1)"
java -Djava.library.path="$target" -cp "$target/*:$target" OnLoopback >"$target/log" 2>&1 ||
    unavailable "it does not run with this machine's Java and processor"
touch "$target/ready"
