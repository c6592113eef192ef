#include <gtest/gtest.h>

#include "redact/redactor.h"

namespace oncelatch::redact {
namespace {

TEST(CredentialName, ExactNames) {
  for (const char* name :
       {"KIRO_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN",
        "AWS_BEARER_TOKEN_BEDROCK", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"}) {
    EXPECT_TRUE(is_credential_name(name)) << name;
  }
}

TEST(CredentialName, KiroPattern) {
  for (const char* name : {"KIRO_REFRESH_TOKEN", "KIRO_TEST_EXPECTED_API_KEY", "KIRO_X_SECRET", "KIRO_PASSWORD",
                           "KIRO_TOKEN", "kiro_refresh_token", "Kiro_Token"}) {
    EXPECT_TRUE(is_credential_name(name)) << name;
  }
}

TEST(CredentialName, CaseFoldsAsTheReferenceDoes) {
  EXPECT_TRUE(is_credential_name("aws_access_key_id"));
  EXPECT_TRUE(is_credential_name("k\u0131ro_api_key"));     // dotless i
  EXPECT_TRUE(is_credential_name("aw\u017F_config_file"));  // long s
  EXPECT_TRUE(is_credential_name("kiro_pa\u00DFword"));     // sharp s
  EXPECT_TRUE(is_credential_name("aws_con\uFB01g_file"));   // fi ligature
}

TEST(CredentialName, NearMisses) {
  for (const char* name :
       {"AWS_REGION", "AWS_PROFILE", "AWS_ROLE_ARN", "KIRO_HOME", "KIRO_TOKEN_COUNT", "MY_KIRO_API_KEY", "API_KEY",
        "token", "AWS_CONFIG_FILES", "", "KIRO", "KIRO_", "KIROTOKEN", " KIRO_API_KEY", "KIRO_API_KEY ", "\xff"}) {
    EXPECT_FALSE(is_credential_name(name)) << name;
  }
}

}  // namespace
}  // namespace oncelatch::redact
