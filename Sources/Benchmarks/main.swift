if CommandLine.arguments.count > 1, CommandLine.arguments[1] == "zeromq" {
    try await zeroMQBenchmark(Array(CommandLine.arguments.dropFirst(2)))
} else {
    print("usage: Benchmarks zeromq [messages [bytes]]")
}
