import Foundation
import PushLoop

/// Measured work, by name. Each prints figures; none decides anything: ratios and CPU are to be read, and wall time on
/// a shared machine is not to be trusted.
@main
enum Benchmarks {
    struct Case: Sendable {
        let name: String
        let about: String
        let run: @Sendable ([String]) async throws -> [Figure]
    }

    static let cases: [Case] = [
        Case(name: "hops", about: "an actor hop on one loop, beside a hop between default actors", run: hopBenchmark),
        Case(name: "burst", about: "20,000 jobs from one thread onto a loop", run: burstBenchmark),
        Case(
            name: "zeromq", about: "messages PUSH to PULL over TCP loopback [messages [bytes]]", run: zeroMQBenchmark),
        Case(
            name: "events", about: "an event from the ledger to a line and to a subscriber [events]",
            run: eventBenchmark),
        Case(
            name: "intake",
            about: "requests from a producer to acks, with a ledger that replies at once [pushes [lines]]",
            run: intakeBenchmark),
        Case(name: "stages", about: "what each stage of a delivery costs alone", run: stageBenchmark),
        Case(name: "envelopes", about: "what producers hand in, read; and acks written", run: envelopeBenchmark),
        Case(
            name: "records", about: "the record layer over SQLite: insert, read all, find, stream [records [finds]]",
            run: recordBenchmark),
        Case(
            name: "devices", about: "a registry of devices on the record layer [devices [MiB of cache]]",
            run: deviceBenchmark),
        Case(name: "registry", about: "the registry of devices itself [devices]", run: registryBenchmark),
        Case(
            name: "records-crash", about: "transactions to be killed in the middle of: --file FILE --from NUMBER",
            run: recordCrash),
        Case(
            name: "router", about: "what the router costs a delivery, between idle neighbours [rounds]",
            run: routerBenchmark),
        Case(
            name: "ledger", about: "messages through the ledger [messages [devices of each [directory]]]",
            run: ledgerBenchmark),
        Case(
            name: "ledger-crash", about: "a busy ledger to be killed: --directory DIRECTORY --from NUMBER",
            run: ledgerCrash),
        Case(
            name: "http2-client", about: "requests to an HTTP/2 server: --port P --trust CA [--count N]",
            run: http2ClientBenchmark),
    ]

    static func main() async {
        var arguments = Array(CommandLine.arguments.dropFirst())
        let wantsJSON = arguments.contains("--json")
        arguments.removeAll { $0 == "--json" }
        if arguments.contains("--help") || arguments.contains("-h") {
            print(help)
            return
        }
        let name = arguments.first
        guard name == nil || cases.contains(where: { $0.name == name }) else {
            FileHandle.standardError.write(
                Data("Benchmarks: there is no '\(name ?? "")'; --help lists what there is\n".utf8))
            exit(64)
        }
        do {
            // Without a name: all that need nothing from outside.
            for one in cases where one.name == name || (name == nil && !one.about.contains("--")) {
                let figures = try await one.run(Array(arguments.dropFirst()))
                print(wantsJSON ? Figure.json(one.name, figures) : Figure.text(one.name, figures))
            }
        } catch {
            FileHandle.standardError.write(Data("Benchmarks: \(error)\n".utf8))
            exit(1)
        }
    }

    static var help: String {
        let width = cases.map(\.name.count).max() ?? 0
        let list = cases.map { "  \($0.name.padding(toLength: width + 2, withPad: " ", startingAt: 0))\($0.about)" }
        return """
            usage: Benchmarks [NAME [OPTION ...]] [--json]

            \(list.joined(separator: "\n"))

            Example: swift run -c release Benchmarks hops
            """
    }
}

/// One line of a benchmark's result.
struct Figure: Codable {
    let name: String
    let value: Double
    let unit: String

    static func text(_ benchmark: String, _ figures: [Figure]) -> String {
        let width = figures.map(\.name.count).max() ?? 0
        let lines = figures.map { figure in
            let name = figure.name.padding(toLength: width + 2, withPad: " ", startingAt: 0)
            return "  \(name)\(String(format: "%12.3f", figure.value)) \(figure.unit)"
        }
        return ([benchmark] + lines).joined(separator: "\n")
    }

    static func json(_ benchmark: String, _ figures: [Figure]) -> String {
        let fields = figures.map { "{\"name\":\"\($0.name)\",\"value\":\($0.value),\"unit\":\"\($0.unit)\"}" }
        return "{\"benchmark\":\"\(benchmark)\",\"figures\":[\(fields.joined(separator: ","))]}"
    }
}

/// User plus system time of this process so far.
func processCPU() -> Duration {
    var usage = rusage()
    getrusage(RUSAGE_SELF.rawValue, &usage)
    return .seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + .microseconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
}

/// Peak resident memory in MiB.
func peakMemory() -> Double {
    guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return 0 }
    for line in status.split(separator: "\n") where line.hasPrefix("VmHWM:") {
        return (Double(line.split(separator: " ", omittingEmptySubsequences: true).dropLast().last ?? "0") ?? 0) / 1024
    }
    return 0
}

/// Of that time, what each of `count` took since `began`.
func microseconds(since began: Duration, for count: Int) -> Double {
    (processCPU() - began).inSeconds * 1e6 / Double(count)
}
