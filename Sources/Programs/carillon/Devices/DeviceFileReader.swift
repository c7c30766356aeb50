import PushAPI
import PushText
import PushWire

/// Parses devices from the bytes of a file incrementally, line by line. A fault affects only its line.
struct DeviceFileReader {
    enum Item: Equatable {
        case device(line: Int, DeviceInput)
        /// A device that is inactive in the export. It is not imported, because registering it would reactivate it.
        case inactive(line: Int)
        case refused(line: Int, String)

        static func == (left: Item, right: Item) -> Bool {
            switch (left, right) {
            case (.device(let line, let device), .device(let other, let another)): line == other && device == another
            case (.inactive(let line), .inactive(let other)): line == other
            case (.refused(let line, let what), .refused(let other, let another)): line == other && what == another
            default: false
            }
        }
    }

    private let app: String?
    private var csv: CSVReader?
    private var lines = LineReader()
    private var columns: [String]?

    /// Creates a reader.
    ///
    /// - Parameter app: The app of lines that do not name one.
    init(_ format: DeviceFormat, app: String?) {
        self.app = app
        if format == .csv { csv = CSVReader() }
    }

    mutating func received(_ piece: some Collection<UInt8>) {
        csv?.received(piece)
        if csv == nil { lines.received(piece) }
    }

    mutating func ended() {
        csv?.ended()
        lines.ended()
    }

    /// Returns the next item, or nil if more bytes are needed or all have been read.
    ///
    /// - Throws: `badInput` if the heading of a CSV file is invalid.
    mutating func next() throws(Failure) -> Item? {
        csv == nil ? nextLine() : try nextRecord()
    }

    private mutating func nextLine() -> Item? {
        guard let (line, bytes) = lines.next() else { return nil }
        guard let bytes else { return .refused(line: line, "longer than \(LineReader.maxLength / 1024) KiB") }
        do {
            let document = try JSONDocument(bytes, depthLimit: 8)
            if let key = document.repeatedKey() {
                throw DeviceFault("duplicate key \"\(PlainText.line(document.string(key) ?? "", limit: 60))\"")
            }
            let input = try DeviceInput(document, at: document.root, ignoring: DeviceFormat.ignoredColumns)
            let isActive = try Self.isActive(document.value("active", in: document.root), in: document)
            return isActive ? .device(line: line, named(input)) : .inactive(line: line)
        } catch let error as JSONError {
            return .refused(line: line, "invalid JSON: \(error)")
        } catch {
            return .refused(line: line, "\(error)")
        }
    }

    private mutating func nextRecord() throws(Failure) -> Item? {
        while let item = csv?.next() {
            switch item {
            case .fault(let line, let what):
                guard columns != nil else { throw Failure(.badInput, "heading in line \(line): \(what)") }
                return .refused(line: line, what)
            case .record(let line, let fields):
                guard let columns else {
                    self.columns = try Self.heading(fields, line: line, app: app)
                    continue
                }
                guard fields.count == columns.count else {
                    return .refused(line: line, "\(fields.count) fields, but the heading has \(columns.count)")
                }
                var input = DeviceInput()
                for (column, field) in zip(columns, fields) where !field.isEmpty {
                    if column == "tags" {
                        input.tags = TagColumn.tags(field)
                    } else if column == "active" {
                        guard let isActive = Self.isActive(field) else {
                            return .refused(line: line, Self.wrongActive)
                        }
                        guard isActive else { return .inactive(line: line) }
                    } else if !DeviceFormat.ignoredColumns.contains(column) {
                        input.set(column, to: field)
                    }
                }
                return .device(line: line, named(input))
            }
        }
        return nil
    }

    // It does not repeat the text, which may be a token in the wrong column.
    private static let wrongActive = "active is neither true nor false"

    /// Returns whether a device is active in the file; nil if the text does not say it.
    private static func isActive(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "true": true
        case "false": false
        default: nil
        }
    }

    private static func isActive(
        _ value: JSONDocument.Position?, in document: JSONDocument
    ) throws(DeviceFault) -> Bool {
        guard let value, document.kind(value) != .null else { return true }
        if let isActive = document.bool(value) ?? document.string(value).flatMap({ isActive($0) }) { return isActive }
        throw DeviceFault(wrongActive)
    }

    private static func heading(_ fields: [String], line: Int, app: String?) throws(Failure) -> [String] {
        let names = fields.map { $0.lowercased().replacing(" ", with: "") }
        for (index, name) in names.enumerated() {
            guard DeviceInput.keys.contains(name) || DeviceFormat.ignoredColumns.contains(name) else {
                let fault = DeviceInput.unknown(name, others: DeviceFormat.records, kind: "column")
                throw Failure(.badInput, "heading in line \(line): \(fault)")
            }
            guard !names[..<index].contains(name) else {
                throw Failure(.badInput, "heading in line \(line): duplicate column \(name)")
            }
        }
        guard names.contains("token") else {
            throw Failure(.badInput, "heading in line \(line): no column token")
        }
        guard names.contains("app") || app != nil else {
            throw Failure(.badInput, "heading in line \(line): no column app; give --app APP for all lines")
        }
        return names
    }

    /// Returns the device with its app. The server checks it, because it knows the push services of the apps.
    private func named(_ input: DeviceInput) -> DeviceInput {
        var input = input
        input.app = input.app ?? app
        return input
    }
}
