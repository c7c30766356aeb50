import Foundation
import Testing

/// The guide shows no line that is not compiled and run: each of its examples stands in a test of this folder, word for
/// word.
@Suite struct GuideTextTests {
    private static let tests = URL(filePath: #filePath).deletingLastPathComponent()
    private static let guide = tests.appending(path: "../../../Documentation/ActiveObject.md").standardizedFileURL

    @Test func `Every example of the guide is part of a test`() throws {
        let guide = try String(contentsOf: Self.guide, encoding: .utf8)
        let sources = try FileManager.default.contentsOfDirectory(at: Self.tests, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "swift" }
            .map { try Self.words(String(contentsOf: $0, encoding: .utf8)) }
        let examples = Self.swiftBlocks(guide)
        #expect(examples.count >= 10)
        for example in examples {
            let words = Self.words(example)
            #expect(sources.contains { $0.contains(words) }, "not in any test of this folder:\n\(example)")
        }
    }

    /// What stands between ```swift and ```.
    private static func swiftBlocks(_ text: String) -> [String] {
        text.components(separatedBy: "```swift\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first
        }
    }

    /// Without regard to how it is indented, since a test is deeper than a page.
    private static func words(_ text: String) -> String {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
            .joined(separator: "\n")
    }
}
