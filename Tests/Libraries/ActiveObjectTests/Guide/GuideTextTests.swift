import Foundation
import Testing

/// The documentation shows only code that is compiled and run: each example occurs word for word in a test of this
/// folder.
@Suite struct GuideTextTests {
    private static let tests = URL(filePath: #filePath).deletingLastPathComponent()

    @Test(arguments: [
        ("Documentation/ActiveObject.md", 10), ("Sources/Libraries/ActiveObject/ActiveObject.docc/ActiveObject.md", 2),
    ])
    func `Every example in the documentation is part of a test`(path: String, minimum: Int) throws {
        let page = Self.tests.appending(path: "../../../../\(path)").standardizedFileURL
        let guide = try String(contentsOf: page, encoding: .utf8)
        let sources = try FileManager.default.contentsOfDirectory(at: Self.tests, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "swift" }
            .map { try Self.words(String(contentsOf: $0, encoding: .utf8)) }
        let examples = Self.swiftBlocks(guide)
        #expect(examples.count >= minimum)
        for example in examples {
            let words = Self.words(example)
            #expect(sources.contains { $0.contains(words) }, "not in any test of this folder:\n\(example)")
        }
    }

    /// Returns the blocks between ```swift and ```.
    private static func swiftBlocks(_ text: String) -> [String] {
        text.components(separatedBy: "```swift\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first
        }
    }

    /// Returns the text without indentation, because a test is indented more than a page.
    private static func words(_ text: String) -> String {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
            .joined(separator: "\n")
    }
}
