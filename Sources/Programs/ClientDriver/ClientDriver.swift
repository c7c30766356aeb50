import CarillonClient
import Glibc

/// A program for tests and benchmarks that does nothing but use CarillonClient: `client-driver push …`, or `watch …`.
/// Its output is JSON lines. `Tools/bench/client` and the tests of the library start and kill it.
@main struct ClientDriver {
    static func main() async {
        var arguments = Array(CommandLine.arguments.dropFirst())
        let verb = arguments.isEmpty ? "" : arguments.removeFirst()
        let options = Options(arguments)
        do {
            switch verb {
            case "push": try await Pushing(options).run()
            case "watch": try await Watching(options).run()
            default:
                report("usage: client-driver push|watch --option value …")
                exit(64)
            }
        } catch {
            report("client-driver: \(error)")
            exit(1)
        }
    }

    static func report(_ text: String) {
        write(text, to: 2)
    }

    /// Prints a line at once, so that it is there before a kill.
    static func print(_ text: String) {
        write(text, to: 1)
    }

    private static func write(_ text: String, to descriptor: CInt) {
        let bytes = Array((text + "\n").utf8)
        _ = Glibc.write(descriptor, bytes, bytes.count)
    }
}

/// The options of the command line: `--name value`.
struct Options {
    private var values: [String: String] = [:]

    init(_ words: [String]) {
        var rest = words[...]
        while let name = rest.popFirst(), let value = rest.popFirst() {
            values[String(name.drop { $0 == "-" })] = value
        }
    }

    subscript(_ name: String) -> String? { values[name] }
    func number(_ name: String, or number: Int) -> Int { values[name].flatMap { Int($0) } ?? number }

    /// Returns the numbers in a file, one on each line.
    static func numbers(in path: String) throws -> [Int] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw ClientError.invalidSetting("cannot read \(path)") }
        defer { close(descriptor) }
        var numbers: [Int] = []
        var number = 0
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = read(descriptor, &chunk, chunk.count), count > 0 {
            for byte in chunk.prefix(count) {
                if byte == UInt8(ascii: "\n") {
                    numbers.append(number)
                    number = 0
                } else {
                    number = number &* 10 &+ Int(byte &- UInt8(ascii: "0"))
                }
            }
        }
        return numbers
    }

    func settings() throws -> ClientSettings {
        var settings = ClientSettings()
        if let list = values["endpoint"] { settings.endpoints = list.split(separator: ",").map { String($0) } }
        if let list = values["publish"] { settings.events = list.split(separator: ",").map { String($0) } }
        if let list = values["replay"] { settings.replay = list.split(separator: ",").map { String($0) } }
        if let secret = values["secret-key"], let server = values["server-key"] {
            settings.keys = try ClientKeys(secret: secret, server: server)
        }
        if let directory = values["spool"] { settings.spool = SpoolSettings(directory: directory) }
        if let bytes = values["spool-bytes"].flatMap({ Int64($0) }) { settings.spool?.maxBytes = bytes }
        settings.producer.window = number("window", or: settings.producer.window)
        settings.producer.deadline = .seconds(number("deadline", or: 600))
        settings.producer.ackTimeout = .milliseconds(number("timeout-ms", or: 5000))
        if values["log"] != nil {
            settings.log = ClientLog { level, message, fields in ClientDriver.report("\(level): \(message) \(fields)") }
        }
        return settings
    }

    /// The processor time of this process so far, and the most memory that it had. `ru_maxrss` would contain that of the
    /// parent before the start.
    static var usage: (seconds: Double, kilobytes: Int) {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) * 1e-6 }
        return (seconds(usage.ru_utime) + seconds(usage.ru_stime), peak)
    }

    private static var peak: Int {
        let descriptor = open("/proc/self/status", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return 0 }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 8192)
        let count = read(descriptor, &bytes, bytes.count)
        let lines = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: "\n")
        let words = lines.first { $0.hasPrefix("VmHWM:") }?.split(whereSeparator: { $0 == " " || $0 == "\t" }) ?? []
        return words.count > 1 ? Int(words[1]) ?? 0 : 0
    }
}
