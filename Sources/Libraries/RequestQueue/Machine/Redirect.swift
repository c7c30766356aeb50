import Foundation

/// The decision about a redirect.
enum Redirect: Sendable, Equatable {
    /// The response is the result: it is not a redirect, or the rule follows none.
    case none
    /// The request goes on at another URL.
    case follow(Step)
    /// The redirect must not be followed.
    case refuse(RequestError)

    /// The changes of a request that follows a redirect.
    struct Step: Sendable, Equatable {
        let url: URL
        let method: HTTPMethod
        let dropsBody: Bool
        let dropsCredentials: Bool
    }

    /// The statuses that lead to another URL if the answer has a location.
    static let statuses: Set<Int> = [301, 302, 303, 307, 308]

    /// Decides from the answer to a request.
    static func decide(
        status: Int, location: String?, from url: URL, method: HTTPMethod, hops: Int, rule: RedirectRule
    ) -> Redirect {
        guard statuses.contains(status), let location, rule.maxHops > 0 else { return .none }
        guard hops < rule.maxHops else {
            return .refuse(
                RequestError(
                    .tooManyRedirects,
                    message: "stopped at \(url.plain) after \(hops) redirects; the server may redirect in a circle, "
                        + "or the limit of the request is too small"))
        }
        guard let origin = Origin(url), let target = resolved(location, against: url), let next = Origin(target) else {
            return .refuse(
                RequestError(
                    .redirectRefused,
                    message: "the redirect from \(url.plain) leads to something that is not http or https"))
        }
        guard next.isSecure || !origin.isSecure else {
            return .refuse(
                RequestError(
                    .redirectRefused,
                    message: "the redirect from \(url.plain) leads from https to http, where others can read it"))
        }
        let becomesGet = status == 303 ? method != .head : status <= 302 && method == .post
        return .follow(
            Step(
                url: target, method: becomesGet ? .get : method, dropsBody: becomesGet && method != .get,
                dropsCredentials: next != origin))
    }

    /// Returns the absolute URL of a `Location`, without user, password and fragment.
    private static func resolved(_ location: String, against url: URL) -> URL? {
        guard location.utf8.count <= 8192, let target = URL(string: location, relativeTo: url)?.absoluteURL,
            var components = URLComponents(url: target, resolvingAgainstBaseURL: true)
        else { return nil }
        components.user = nil
        components.password = nil
        components.fragment = nil
        return components.url
    }
}
