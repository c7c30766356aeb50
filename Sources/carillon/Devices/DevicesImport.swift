import FoundationEssentials
import Glibc
import PushLoop
import PushModel
import PushTime
import PushWire

/// `carillon devices import`: many registrations from a file.
enum DevicesImport {
    static let verb = Verb(
        name: "devices import", summary: "register the devices of a file",
        words: [Word("FILE", "CSV with a heading, or one JSON object a line; - reads the standard input")],
        options: [
            Option(
                "format", "NAME",
                "csv or jsonl, where the file's name does not end in .csv, .jsonl or .ndjson.\nColumns or keys: "
                    + "\(DeviceInput.keys.joined(separator: ", ")).\n"
                    + "What is empty stays as it was; tags of a CSV file have semicolons between them. A line that is\n"
                    + "wrong is refused, and the others are taken. What is inactive in an export is left out: to\n"
                    + "register it would bring it back"),
            Option("app", "APP", "whose the devices are, on lines that do not say"),
            Option("dry-run", "say what would come of it, and register nothing"),
        ] + DevicesVerb.options,
        examples: [
            ("carillon devices import devices.csv --app shop --dry-run", "is the file good, and how many are new?"),
            ("carillon devices export | ssh new-host carillon devices import - --format csv", "move them"),
        ]
    ) { arguments in
        let file = arguments.word("FILE")
        let format = try DeviceFormat.choose(arguments.text("format"), file: file == "-" ? nil : file)
        guard let format else {
            throw Failure(
                .usage, "say with --format csv or --format jsonl what \(file == "-" ? "comes" : "'\(file)' is")")
        }
        if let app = arguments.text("app"), AppID(app) == nil {
            throw Failure(
                .usage, "'\(PlainText.line(app, limit: 80))' is no app id: 1 to 64 of letters, digits, '.', '_' and '-'"
            )
        }
        let input = try InputFile(file)
        var run = ImportRun(
            client: try ControlOptions.client(arguments), isTrial: arguments.has("dry-run"),
            isJSON: arguments.has("json"))
        var reader = DeviceFileReader(format, app: arguments.text("app"))
        do {
            while let piece = try input.read() {
                reader.received(piece)
                while let item = try reader.next() { try await run.take(item) }
            }
            reader.ended()
            while let item = try reader.next() { try await run.take(item) }
            try await run.finish()
        } catch let failure as Failure {
            run.report()
            throw Failure(failure.code, "\(failure)\(run.whereItStopped)")
        }
        run.report()
        return run.counts.refused > 0 ? .badInput : .done
    }
}

/// A file or the standard input, piece by piece.
private final class InputFile {
    private let descriptor: CInt
    private let name: String

    init(_ path: String) throws(Failure) {
        name = path
        guard path != "-" else {
            descriptor = 0
            return
        }
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let error = SystemError.current
            throw Failure(
                error.number == EACCES ? .notPermitted : .badInput,
                "cannot read \(path): "
                    + (error.number == ENOENT ? "there is no such file" : "\(error)"))
        }
    }

    deinit {
        if descriptor != 0 { close(descriptor) }
    }

    /// Nil at its end.
    func read() throws(Failure) -> [UInt8]? {
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count > 0 { return Array(piece[..<count]) }
            if count == 0 { return nil }
            if errno != EINTR { throw Failure(.badInput, "cannot read \(name): \(SystemError.current)") }
        }
    }
}

/// Sends registrations in batches and counts what becomes of them.
struct ImportRun {
    struct Counts: Codable, Equatable {
        var new = 0
        var known = 0
        var reactivated = 0
        var refused = 0
        /// Inactive in the file, and left out.
        var inactive = 0

        var total: Int { new + known + reactivated + refused + inactive }
    }

    private struct Report: Encodable {
        let dryRun: Bool
        let counts: Counts
        let refusals: [Refusal]

        enum CodingKeys: String, CodingKey {
            case counts, refusals
            case dryRun = "dry_run"
        }
    }

    struct Refusal: Codable, Equatable {
        let line: Int
        let reason: String
    }

    static let mostBytes = 512 * 1024
    /// So many refusals are told one by one.
    static let mostTold = 1000

    private let client: ControlClient
    private let isTrial: Bool
    private let isJSON: Bool
    private let terminal = Terminal.error
    private var lines: [Int] = []
    private var body: [UInt8] = []
    private var lastShown: MonotonicTime?
    private var lastDone = 0
    private var refusals: [Refusal] = []
    private(set) var counts = Counts()

    init(client: ControlClient, isTrial: Bool, isJSON: Bool) {
        self.client = client
        self.isTrial = isTrial
        self.isJSON = isJSON
    }

    mutating func take(_ item: DeviceFileReader.Item) async throws {
        switch item {
        case .device(let line, let device):
            let text = device.json.bytes
            if lines.count == DeviceRoutes.mostRegistrations || body.count + text.count > Self.mostBytes {
                try await send()
            }
            body += lines.isEmpty ? Array("{\"devices\":[".utf8) : [UInt8(ascii: ",")]
            body += text
            lines.append(line)
        case .inactive: counts.inactive += 1
        case .refused(let line, let reason): refuse(line, reason)
        }
        showProgress()
    }

    mutating func finish() async throws {
        if !lines.isEmpty { try await send() }
    }

    private mutating func send() async throws {
        let answer = try await client.ask(
            "POST", "/v1/devices" + (isTrial ? "?dry_run=true" : ""), body: body + Array("]}".utf8),
            for: RegistrationListAnswer.self)
        guard answer.devices.count == lines.count else {
            throw Failure(.failed, "\(lines.count) devices were sent and \(answer.devices.count) answered")
        }
        for (line, device) in zip(lines, answer.devices) {
            switch device.change {
            case "registered": counts.new += 1
            case "known": counts.known += 1
            case "reactivated": counts.reactivated += 1
            default: refuse(line, device.error?.message ?? "it was not taken")
            }
        }
        lastDone = lines.last ?? lastDone
        lines = []
        body = []
    }

    private mutating func refuse(_ line: Int, _ reason: String) {
        counts.refused += 1
        guard refusals.count < Self.mostTold else { return }
        refusals.append(Refusal(line: line, reason: PlainText.line(reason)))
        if !isJSON {
            if terminal.isInteractive { terminal.write("\r\u{1b}[K") }
            terminal.write("line \(line): \(terminal.coloured("refused", .red)): \(PlainText.line(reason))\n")
        }
    }

    private mutating func showProgress() {
        guard terminal.isInteractive, counts.total.isMultiple(of: 64) else { return }
        let now = MonotonicTime.current()
        if let last = lastShown, now - last < .milliseconds(200) { return }
        lastShown = now
        terminal.write("\r\u{1b}[K\(terminal.coloured("\(counts.total) devices", .dim))")
    }

    var whereItStopped: String {
        lastDone > 0
            ? "; all up to line \(lastDone) was sent: mend it and import the whole file again, nothing is doubled" : ""
    }

    func report() {
        if terminal.isInteractive { terminal.write("\r\u{1b}[K") }
        if isJSON {
            ControlOptions.write(Report(dryRun: isTrial, counts: counts, refusals: refusals))
            return
        }
        if counts.refused > refusals.count {
            terminal.write("and \(counts.refused - refusals.count) more were refused\n")
        }
        var parts = ["\(counts.new) new", "\(counts.known) known", "\(counts.reactivated) reactivated"]
        parts.append("\(counts.refused) refused")
        if counts.inactive > 0 { parts.append("\(counts.inactive) left out, inactive in the file") }
        Terminal.output.write(
            (isTrial ? "Nothing was registered. It would be: " : "Imported: ") + parts.joined(separator: ", ") + "\n")
    }
}
