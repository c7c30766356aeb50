import Foundation
import PushLoop

/// The benchmarks by name. Each prints figures and judges none of them. Use ratios and CPU times; wall-clock times on a
/// shared machine are unreliable.
@main
enum Benchmarks {
    struct Case: Sendable {
        let name: String
        let about: String
        let run: @Sendable ([String]) async throws -> [Figure]
    }

    static let cases: [Case] = [
        Case(name: "hops", about: "actor hops on one loop and between default actors", run: LoopBenchmarks.hops),
        Case(name: "burst", about: "20,000 jobs from one thread onto a loop", run: LoopBenchmarks.burst),
        Case(
            name: "zeromq", about: "PUSH to PULL over TCP loopback [messages [bytes]]", run: ZeroMQBenchmark.run),
        Case(
            name: "events", about: "events from the ledger to subscribers [events]",
            run: EventBenchmark.run),
        Case(
            name: "intake",
            about: "requests to acks, with an instant ledger [pushes [lines]]",
            run: IntakeBenchmark.run),
        Case(name: "stages", about: "the cost of each stage of a delivery", run: StageBenchmark.run),
        Case(name: "access", about: "the checks of HTTP requests by their keys [requests]", run: AccessBenchmark.run),
        Case(
            name: "encryption", about: "the encryption of messages for browsers [messages]",
            run: EncryptionBenchmark.run),
        Case(name: "envelopes", about: "parsing of envelopes, writing of acks", run: EnvelopeBenchmark.run),
        Case(
            name: "receipts", about: "the verification of signed data of the App Store [texts]",
            run: ReceiptsBenchmark.run),
        Case(
            name: "records", about: "the record layer over SQLite [records [finds]]",
            run: RecordBenchmark.run),
        Case(name: "registry", about: "the device registry [devices]", run: RegistryBenchmark.run),
        Case(
            name: "records-crash", about: "for a crash test: --file FILE --from NUMBER",
            run: RecordCrash.run),
        Case(
            name: "router", about: "the cost of the router per delivery [rounds]",
            run: RouterBenchmark.run),
        Case(
            name: "ledger", about: "messages through the ledger [messages [devices [directory]]]",
            run: LedgerBenchmark.run),
        Case(
            name: "ledger-crash", about: "for a crash test: --directory DIR --from NUMBER",
            run: LedgerCrash.run),
        Case(
            name: "postgresql", about: "groups --url URL [--seconds N]; ledger [--url URL]; flushes --url URL",
            run: PostgreSQLBenchmark.run),
        Case(
            name: "http2-client", about: "requests to a server: --port P --trust CA [--count N]",
            run: HTTP2ClientBenchmark.run),
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
                Data("Benchmarks: unknown benchmark '\(name ?? "")'; --help lists them\n".utf8))
            exit(64)
        }
        do {
            // Without a name, run all benchmarks that need no options.
            for one in cases where one.name == name || (name == nil && !one.about.contains("--")) {
                let figures = try await one.run(Array(arguments.dropFirst()))
                print(wantsJSON ? Figure.json(one.name, figures: figures) : Figure.text(one.name, figures: figures))
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

/// One figure of a benchmark's result.
struct Figure: Codable {
    let name: String
    let value: Double
    let unit: String

    static func text(_ benchmark: String, figures: [Figure]) -> String {
        let width = figures.map(\.name.count).max() ?? 0
        let lines = figures.map { figure in
            let name = figure.name.padding(toLength: width + 2, withPad: " ", startingAt: 0)
            return "  \(name)\(String(format: "%12.3f", figure.value)) \(figure.unit)"
        }
        return ([benchmark] + lines).joined(separator: "\n")
    }

    static func json(_ benchmark: String, figures: [Figure]) -> String {
        let fields = figures.map { "{\"name\":\"\($0.name)\",\"value\":\($0.value),\"unit\":\"\($0.unit)\"}" }
        return "{\"benchmark\":\"\(benchmark)\",\"figures\":[\(fields.joined(separator: ","))]}"
    }
}

/// Returns the user plus system time that this process has used.
func processCPU() -> Duration {
    var usage = rusage()
    getrusage(RUSAGE_SELF.rawValue, &usage)
    return .seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + .microseconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
}

/// Returns the peak resident memory in MiB.
func peakMemory() -> Double {
    guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return 0 }
    for line in status.split(separator: "\n") where line.hasPrefix("VmHWM:") {
        return (Double(line.split(separator: " ", omittingEmptySubsequences: true).dropLast().last ?? "0") ?? 0) / 1024
    }
    return 0
}

/// Returns the CPU time since `began`, divided by `count`, in microseconds.
func microseconds(since began: Duration, for count: Int) -> Double {
    (processCPU() - began).inSeconds * 1e6 / Double(count)
}
