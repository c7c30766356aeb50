import FoundationEssentials
import PushAPI
import PushModel
import Testing

@testable import carillon

/// Every kind of event is known wherever events are described to people.
@Suite struct EventKindTests {
    /// The App Store and the actions of operators name their kinds themselves.
    private static let described = EventKind.allCases.filter { !["receipt", "operator"].contains("\($0.family)") }

    private static func text(_ path: String) throws -> String {
        let root = #filePath.split(separator: "/").dropLast(5).map { "/\($0)" }.joined()
        return try String(contentsOf: URL(filePath: "\(root)/\(path)"), encoding: .utf8)
    }

    @Test(arguments: described) func `The command line has a sentence for each kind`(_ kind: EventKind) throws {
        let event = try #require(EventRecord(Array(#"{"family":"\#(kind.family)","kind":"\#(kind.name)"}"#.utf8)))
        let subject: EventDescription.Subject =
            switch event.family {
            case "message", "delivery": .message
            default: .none
            }
        #expect(EventDescription(subject).sentence(event) != "\(kind.family) \(kind.name)")
    }

    @Test func `The console has a sentence for each kind, and a filter for each family`() throws {
        let words = try Self.text("Sources/Server/PushConsole/Assets/words.js")
        for kind in Self.described { #expect(words.contains("\"\(kind.family)/\(kind.name)\": (")) }
        let page = try Self.text("Sources/Server/PushConsole/Assets/events.js")
        let list = try #require(page.firstMatch(of: /const families = \[([^\]]*)\]/)?.1)
        for family in EventKind.families { #expect(list.contains("\"\(family)\"")) }
    }

    @Test func `CarillonClient has a name for each kind`() throws {
        let source = try Self.text("Sources/Libraries/CarillonClient/Events/CarillonEvent.swift")
        for kind in Self.described { #expect(source.contains("Kind(rawValue: \"\(kind.family)/\(kind.name)\")")) }
    }
}
